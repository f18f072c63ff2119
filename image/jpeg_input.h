/* SPDX-License-Identifier: MIT
 *
 * What all that decode JPEGs share: the decoder's state, its limits, and how small it decodes. */
#ifndef IMAGE_JPEG_INPUT_H
#define IMAGE_JPEG_INPUT_H

#include "image/jpeg_error.h"
#include "image/pixels.h"

struct jpeg_input {
    struct jpeg_failure failure;
    struct jpeg_decompress_struct codec;
    struct jpeg_progress_mgr progress;
};

/* Before setjmp on failure.failed, where errors of what follows go. */
void jpeg_input_init(struct jpeg_input *in, bool lenient);
/* Reads the header; chooses the divisor, which decides how large it will be. */
void jpeg_input_begin(struct jpeg_input *in, struct decoding *d);
/* What libjpeg takes for it, beside its result. */
uint64_t jpeg_input_bytes(struct jpeg_input *in);
void jpeg_input_close(struct jpeg_input *in);

#endif
