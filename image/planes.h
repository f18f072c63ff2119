/* SPDX-License-Identifier: MIT
 *
 * A picture in the form of a JPEG: a plane of brightness, and two planes of colour with half its
 * width and height. A JPEG that is shrunk is handled in this form, so its colours are not converted
 * between decoder and encoder. */
#ifndef IMAGE_PLANES_H
#define IMAGE_PLANES_H

#include "image/pixels.h"

#define PLANES_MOST 3u

struct plane {
    uint8_t *data;
    size_t stride;              /* a multiple of sixteen */
    uint32_t width, height;
};

struct planes {
    unsigned count;             /* 0 for no planes, 1 for grey, 3 for YCbCr */
    struct plane plane[PLANES_MOST];
    uint8_t *memory;
};

/* Returns the bytes of a picture of that size. */
uint64_t planes_bytes(uint32_t width, uint32_t height, unsigned count);
int planes_open(struct planes *planes, uint32_t width, uint32_t height, unsigned count,
                struct sheaf_error *err);
void planes_close(struct planes *planes);
/* Turns the picture as EXIF's orientation states. */
int planes_upright(struct planes *planes, unsigned orientation, struct sheaf_error *err);

/* Decodes a JPEG and shrinks it to the width and height in `d`, which are those before turning.
 * `orientation` is the turn that follows. Makes no planes if the JPEG is of an unusual kind;
 * decode_jpeg and resample handle those. Returns the errors of decode_fn. */
int planes_of_jpeg(struct decoding *d, unsigned orientation, struct planes *planes,
                   struct sheaf_error *err);

#endif
