/* SPDX-License-Identifier: MIT
 *
 * A picture as a JPEG stores it: one plane of brightness, and two planes of colour with half the
 * width and height. When a JPEG is shrunk, it stays in this form between decoder and encoder, so
 * its colours are not converted. */
#ifndef IMAGE_PLANES_H
#define IMAGE_PLANES_H

#include "image/pixels.h"

#define PLANES_MOST 3u

struct plane {
    uint8_t *data;
    /* number of bytes from one row to the next; a multiple of sixteen */
    size_t stride;
    uint32_t width, height;
};

struct planes {
    /* number of planes: 0 if there is no picture, 1 for grey, 3 for YCbCr */
    unsigned count;
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

/* Decodes a JPEG and shrinks it to the width and height in `d`, which are sizes before the picture
 * is turned upright. `orientation` is the EXIF orientation with which the caller will turn the
 * planes afterwards.
 *
 * If the JPEG is of an unusual kind, sets planes->count to 0 and returns SHEAF_OK. The caller must
 * then use decode_jpeg and resample. Returns the errors of decode_fn. */
int planes_of_jpeg(struct decoding *d, unsigned orientation, struct planes *planes,
                   struct sheaf_error *err);

#endif
