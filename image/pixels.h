/* SPDX-License-Identifier: MIT
 *
 * A decoded picture in memory that was asked for before: rows of 8-bit samples, grey or RGB. */
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

/* What decoders are asked for, and where they get their memory. */
struct decoding {
    const uint8_t *data;
    size_t size;
    const struct image_room *room;
    uint32_t width, height;     /* of the picture that it will be, as it is stored; 0: as it is.  A
                                   JPEG may be decoded smaller, by `divisor`. */
    unsigned divisor;           /* set by the decoder */
    bool checks;                /* pixels are not wanted, only whether there are all */
    bool by_row;                /* set by a decoder that then needs but one row */
    bool copies;                /* it becomes another one, while both are in memory */
    uint64_t taken;             /* of the room; given back by who has made this */
};

/* What is more than IMAGE_PIXELS_MOST, or nothing, is refused. */
int pixels_check_size(uint64_t width, uint64_t height, struct sheaf_error *err);
/* Maps memory for a picture of that size; more than IMAGE_PIXELS_MOST is refused.  `library_bytes`
 * is what the decoder's library takes beside it.  All that the image will need is taken of the room
 * here, at once: who has some must not wait for more. */
int pixels_open(struct pixels *pixels, struct decoding *d, uint64_t width, uint64_t height,
                unsigned channels, uint64_t library_bytes, struct sheaf_error *err);
/* Maps memory for another picture, no larger, for which room was taken. */
int pixels_map(struct pixels *pixels, uint32_t width, uint32_t height, unsigned channels,
               struct sheaf_error *err);
void pixels_close(struct pixels *pixels);

static inline uint8_t *pixels_row(const struct pixels *p, uint64_t y)
{
    return p->data + y * p->width * p->channels;
}

/* Turns it as EXIF's orientation says. */
struct turning {
    const uint8_t *data;
    uint32_t width, height;
    size_t stride;
    unsigned channels;
};
/* `to` has room for the height as its width, where the orientation exchanges them. */
void pixels_turn(const struct turning *from, unsigned orientation, uint8_t *to, size_t stride);
int pixels_upright(struct pixels *pixels, unsigned orientation, struct sheaf_error *err);

/* ---- Decoders --------------------------------------------------------------------------------
 * Each reads the header, takes memory, and decodes.  On failure *pixels is empty, or is closed by
 * the caller. */
typedef int decode_fn(struct decoding *d, struct pixels *pixels, struct sheaf_error *err);
decode_fn decode_jpeg, decode_png, decode_gif, decode_bmp, decode_webp;

#endif
