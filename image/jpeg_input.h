/* SPDX-License-Identifier: MIT
 *
 * State that all JPEG decoders in this directory share: the decoder of libjpeg, its limits, and the
 * scale of decoding. */
#ifndef IMAGE_JPEG_INPUT_H
#define IMAGE_JPEG_INPUT_H

#include "image/jpeg_error.h"
#include "image/pixels.h"

struct jpeg_input {
    struct jpeg_failure failure;
    struct jpeg_decompress_struct codec;
    struct jpeg_progress_mgr progress;
};

/* Prepares libjpeg's handling of errors. The caller must then call setjmp on failure.failed before
 * it calls any other function of libjpeg, because an error in libjpeg jumps there. */
void jpeg_input_init(struct jpeg_input *in, bool lenient);
/* Reads the header of the JPEG, and chooses the scale 1 / d->divisor at which it is decoded. Also
 * computes the width and height of the decoded picture. */
void jpeg_input_begin(struct jpeg_input *in, struct decoding *d);
/* Returns the memory in bytes that libjpeg needs, not counting the decoded picture. */
uint64_t jpeg_input_bytes(struct jpeg_input *in);
void jpeg_input_close(struct jpeg_input *in);

#endif
