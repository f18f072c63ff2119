/* SPDX-License-Identifier: MIT
 *
 * Reads the header of a JPEG with libjpeg to find out whether a decoder accepts it. The rest of the
 * file is not read. */
#include "image/jpeg_header.h"

#include <stdlib.h>

#include "base/error.h"
#include "image/jpeg_error.h"

struct jpeg_reader {
    struct jpeg_failure failure;
    struct jpeg_decompress_struct decoder;
};

int jpeg_reader_open(struct jpeg_reader **reader, struct sheaf_error *err)
{
    struct jpeg_reader *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return err_memory(err, sizeof(*r));
    r->decoder.err = jpeg_failure_init(&r->failure);
    if (setjmp(r->failure.failed) != 0) {
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

    if (setjmp(r->failure.failed) == 0) {
        jpeg_mem_src(&r->decoder, data, size);
        jpeg_read_header(&r->decoder, TRUE);
        if (r->decoder.num_components == 4)
            problem = "a JPEG of four components (CMYK or YCCK)";
    } else {
        problem = r->failure.message;
    }
    jpeg_abort_decompress(&r->decoder);
    return problem;
}
