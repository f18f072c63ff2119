/* SPDX-License-Identifier: MIT
 *
 * State that all JPEG decoders here share: libjpeg's decoder, its limits, and the scale of
 * decoding. */
#ifndef IMAGE_JPEG_INPUT_H
#define IMAGE_JPEG_INPUT_H

#include "image/jpeg_error.h"
#include "image/pixels.h"

struct jpeg_input {
    struct jpeg_failure failure;
    struct jpeg_decompress_struct codec;
    struct jpeg_progress_mgr progress;
};

/* Initialises the state. Must be called before setjmp on failure.failed, because later errors jump
 * there. */
void jpeg_input_init(struct jpeg_input *in, bool lenient);
/* Reads the JPEG's header and chooses the divisor of the scale, which determines the decoded
 * size. */
void jpeg_input_begin(struct jpeg_input *in, struct decoding *d);
/* Returns the memory that libjpeg needs in addition to the decoded picture. */
uint64_t jpeg_input_bytes(struct jpeg_input *in);
void jpeg_input_close(struct jpeg_input *in);

#endif
