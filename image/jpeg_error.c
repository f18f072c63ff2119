/* SPDX-License-Identifier: MIT
 *
 * Handles the messages of libjpeg. An error ends the call of libjpeg by longjmp. Warnings about
 * damaged data are counted, and the text of the first warning is kept. */
#include "image/jpeg_error.h"

#include <string.h>

#include <jerror.h>

static void on_error(j_common_ptr codec)
{
    struct jpeg_failure *f = (struct jpeg_failure *)(void *)codec->err;

    f->code = codec->err->msg_code;
    codec->err->format_message(codec, f->message);
    longjmp(f->failed, 1);
}

/* Returns true if a warning of libjpeg about unexpected bytes before a marker is harmless. Such
 * bytes are harmless between the segments of the header and directly before the end marker. Before
 * any other marker, they show that a part of the picture is damaged. */
static bool lies_outside(j_common_ptr codec)
{
    const int marker = codec->err->msg_parm.i[1];

    return marker == JPEG_EOI ||
           (codec->is_decompressor &&
            ((struct jpeg_decompress_struct *)(void *)codec)->input_scan_number == 0);
}

/* Handles a warning of libjpeg, which is a message of level -1. Counts the warning if it is about
 * damaged data. Ignores it if it is about an unusual header. */
static void on_message(j_common_ptr codec, int level)
{
    struct jpeg_failure *f = (struct jpeg_failure *)(void *)codec->err;
    const int what = codec->err->msg_code;

    if (level >= 0 || what == JWRN_ADOBE_XFORM || what == JWRN_JFIF_MAJOR ||
        what == JWRN_TOO_MUCH_DATA ||
        (what == JWRN_EXTRANEOUS_DATA && (f->lenient || lies_outside(codec))))
        return;
    if (f->warnings++ == 0)
        codec->err->format_message(codec, f->message);
}

static void on_output(j_common_ptr codec)
{
    (void)codec;
}

struct jpeg_error_mgr *jpeg_failure_init(struct jpeg_failure *f)
{
    memset(f, 0, sizeof(*f));
    jpeg_std_error(&f->errors);
    f->errors.error_exit = on_error;
    f->errors.emit_message = on_message;
    f->errors.output_message = on_output;
    return &f->errors;
}
