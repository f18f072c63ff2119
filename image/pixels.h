/* SPDX-License-Identifier: MIT
 *
 * A decoded picture (rows of 8-bit values, grey or RGB) in memory that was reserved before
 * decoding. */
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

/* A request to a decoder. It also tells where the memory for the picture comes from. */
struct decoding {
    const uint8_t *data;
    size_t size;
    const struct image_room *room;
    /* size of the picture to make, before it is turned; 0 keeps the size. A JPEG may be decoded
     * at a smaller scale, which is then given by `divisor`. */
    uint32_t width, height;
    unsigned divisor;           /* set by the decoder */
    bool checks;                /* only checks that all pixels are there */
    /* set by a decoder that delivers the picture row by row, so that only one row must be in
     * memory */
    bool by_row;
    /* for PNG only: decodes to one channel of palette indices or grey values; colours and values
     * of 16 bits are refused */
    bool keeps_values;
    /* number of bytes that the caller needs in addition to the picture; both are taken at once from
     * the memory that threads share (struct image_room) */
    uint64_t beside;
    /* whether the caller will copy the picture into another one, so that both are in memory at
     * the same time */
    bool copies;
    /* number of bytes taken from the memory that threads share (struct image_room); the creator of
     * this request gives them back */
    uint64_t taken;
};

/* Refuses a picture that has no pixels, or more than IMAGE_PIXELS_MOST. */
int pixels_check_size(uint64_t width, uint64_t height, struct sheaf_error *err);
/* Maps memory for a picture of this size. Refuses a picture with more than IMAGE_PIXELS_MOST
 * pixels. `library_bytes` is the memory that the decoder's library needs. All memory that an image
 * will need is taken from the shared memory (struct image_room) at once, because a thread that
 * holds some of this memory must not wait for more. pixels_open takes it; crop_pixels.c and
 * planes_jpeg.c, which never map a whole picture, take it themselves. */
int pixels_open(struct pixels *pixels, struct decoding *d, uint64_t width, uint64_t height,
                unsigned channels, uint64_t library_bytes, struct sheaf_error *err);
/* Maps memory for another picture, which must not be larger than the size for which pixels_open has
 * taken room. */
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
/* Turns the picture upright and writes the result to `to`. If the orientation exchanges width and
 * height, `to` must have room for the exchanged size. */
void pixels_turn(const struct turning *from, unsigned orientation, uint8_t *to, size_t stride);
int pixels_upright(struct pixels *pixels, unsigned orientation, struct sheaf_error *err);

/* ---- Decoders --------------------------------------------------------------------------------
 * Each reads the header, takes memory, and decodes.  On failure *pixels is empty, or is closed by
 * the caller. */
typedef int decode_fn(struct decoding *d, struct pixels *pixels, struct sheaf_error *err);
decode_fn decode_jpeg, decode_png, decode_gif, decode_bmp, decode_webp;

#endif
