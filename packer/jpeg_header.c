/* SPDX-License-Identifier: MIT
 *
 * libjpeg reports errors by a callback that must not return, so this is the one place with a
 * setjmp; nothing here lives across it but the reader. */
#include "packer/jpeg_header.h"

#include <setjmp.h>
#include <stdio.h>      /* jpeglib.h needs it */
#include <stdlib.h>

#include <jpeglib.h>

#include "base/error.h"

struct jpeg_reader {
    struct jpeg_decompress_struct decoder;
    struct jpeg_error_mgr errors;
    jmp_buf failed;
    char message[JMSG_LENGTH_MAX];
};

static void on_error(j_common_ptr decoder)
{
    struct jpeg_reader *r = decoder->client_data;

    decoder->err->format_message(decoder, r->message);
    longjmp(r->failed, 1);
}

/* Warnings are of what a decoder can live with. */
static void on_message(j_common_ptr decoder, int level)
{
    (void)decoder;
    (void)level;
}

static void on_output(j_common_ptr decoder)
{
    (void)decoder;
}

int jpeg_reader_open(struct jpeg_reader **reader, struct sheaf_error *err)
{
    struct jpeg_reader *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return err_memory(err, sizeof(*r));
    r->decoder.err = jpeg_std_error(&r->errors);
    r->decoder.client_data = r;
    r->errors.error_exit = on_error;
    r->errors.emit_message = on_message;
    r->errors.output_message = on_output;
    if (setjmp(r->failed) != 0) {
        free(r);
        return err_memory(err, sizeof(r->decoder));
    }
    jpeg_create_decompress(&r->decoder);
    *reader = r;
    return SHEAF_OK;
}

void jpeg_reader_close(struct jpeg_reader *r)
{
    if (r == NULL)
        return;
    jpeg_destroy_decompress(&r->decoder);
    free(r);
}

const char *jpeg_reader_check(struct jpeg_reader *r, const void *data, size_t size)
{
    const char *volatile problem = NULL;

    if (setjmp(r->failed) == 0) {
        jpeg_mem_src(&r->decoder, data, size);
        jpeg_read_header(&r->decoder, TRUE);
        if (r->decoder.num_components == 4)
            problem = "a JPEG of four components (CMYK or YCCK)";
    } else {
        problem = r->message;
    }
    jpeg_abort_decompress(&r->decoder);
    return problem;
}
