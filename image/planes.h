/* SPDX-License-Identifier: MIT
 *
 * A picture as a JPEG has it: a plane of brightness, and two of colour with half its width and
 * height.  A JPEG that becomes smaller goes this way: nothing is made of its colours between
 * decoder and encoder. */
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
    unsigned count;             /* 0: none; 1: grey; 3: YCbCr */
    struct plane plane[PLANES_MOST];
    uint8_t *memory;
};

/* Bytes of a picture of that size. */
uint64_t planes_bytes(uint32_t width, uint32_t height, unsigned count);
int planes_open(struct planes *planes, uint32_t width, uint32_t height, unsigned count,
                struct sheaf_error *err);
void planes_close(struct planes *planes);
/* Turns it as EXIF's orientation says. */
int planes_upright(struct planes *planes, unsigned orientation, struct sheaf_error *err);

/* Decodes a JPEG and makes it smaller: as wide and high as `d` says, as it is stored.
 * `orientation` is what it will be turned by.  No planes are made of a JPEG that is not of the
 * usual kind, which decode_jpeg and resample take.  Errors as of decode_fn. */
int planes_of_jpeg(struct decoding *d, unsigned orientation, struct planes *planes,
                   struct sheaf_error *err);

#endif
