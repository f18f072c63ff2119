/* SPDX-License-Identifier: MIT
 *
 * A decoded picture in memory reserved beforehand: rows of 8-bit samples, grey or RGB. */
#ifndef IMAGE_PIXELS_H
#define IMAGE_PIXELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/room.h"

struct pixels {
    uint8_t *data;              /* rows without padding */
    uint32_t width, height;
    unsigned channels;          /* 1: grey; 3: RGB */
};

/* A request to a decoder, and the source of its memory. */
struct decoding {
    const uint8_t *data;
    size_t size;
    const struct image_room *room;
    uint32_t width, height;     /* size of the picture to make, before it is turned; 0 keeps the
                                   size. A JPEG may be decoded at a smaller size, given by
                                   `divisor` */
    unsigned divisor;           /* set by the decoder */
    bool checks;                /* only checks that all pixels are there */
    bool by_row;                /* set by a decoder that needs only one row in this case */
    bool keeps_values;          /* PNG only: one channel of palette indices or grey values; colours
                                   and 16 bits are refused */
    uint64_t beside;            /* bytes that the caller needs as well, to be taken from the room
                                   together with those for the picture */
    bool copies;                /* whether another picture is made of it while both are in memory */
    uint64_t taken;             /* bytes taken from the room; the creator of this request gives
                                   them back */
};

/* Refuses an empty picture, and one of more than IMAGE_PIXELS_MOST. */
int pixels_check_size(uint64_t width, uint64_t height, struct sheaf_error *err);
/* Maps memory for a picture of that size. Refuses more than IMAGE_PIXELS_MOST. `library_bytes` is
 * the memory of the decoder's library. All memory that the image will need is taken from the room
 * at once (here, or in crop_pixels.c and planes_jpeg.c, which map no whole picture), because a
 * holder of some memory must not wait for more. */
int pixels_open(struct pixels *pixels, struct decoding *d, uint64_t width, uint64_t height,
                unsigned channels, uint64_t library_bytes, struct sheaf_error *err);
/* Maps memory for another picture of at most the size for which room was taken. */
int pixels_map(struct pixels *pixels, uint32_t width, uint32_t height, unsigned channels,
               struct sheaf_error *err);
void pixels_close(struct pixels *pixels);

static inline uint8_t *pixels_row(const struct pixels *p, uint64_t y)
{
    return p->data + y * p->width * p->channels;
}

/* A picture that is turned as EXIF's orientation states. */
struct turning {
    const uint8_t *data;
    uint32_t width, height;
    size_t stride;
    unsigned channels;
};
/* Turns the picture into `to`. If the orientation exchanges width and height, `to` must have room
 * for that. */
void pixels_turn(const struct turning *from, unsigned orientation, uint8_t *to, size_t stride);
int pixels_upright(struct pixels *pixels, unsigned orientation, struct sheaf_error *err);

/* ---- Decoders --------------------------------------------------------------------------------
 * Each reads the header, takes memory, and decodes.  On failure *pixels is empty, or is closed by
 * the caller. */
typedef int decode_fn(struct decoding *d, struct pixels *pixels, struct sheaf_error *err);
decode_fn decode_jpeg, decode_png, decode_gif, decode_bmp, decode_webp;

#endif
