/* SPDX-License-Identifier: MIT
 *
 * A decoded picture, grey or RGB, with 8 bits for each value. Its memory was reserved before
 * decoding. */
#ifndef IMAGE_PIXELS_H
#define IMAGE_PIXELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/room.h"

struct pixels {
    uint8_t *data;              /* rows of pixels, without padding between them */
    uint32_t width, height;
    unsigned channels;          /* 1 for grey, 3 for RGB */
};

/* A request to decode an image: the bytes of the file, the requested size, and the memory to
 * use. */
struct decoding {
    const uint8_t *data;
    size_t size;
    const struct image_room *room;
    /* Requested size of the picture before it is turned upright, in pixels. 0 means the size in the
     * file. A JPEG decoder can only divide the size in the file by `divisor`, a whole number. So
     * the picture may be larger than requested. */
    uint32_t width, height;
    /* divisor of the scale 1 / `divisor` at which the image was decoded; set by the JPEG decoder */
    unsigned divisor;
    /* true if the caller only checks that all pixels can be decoded */
    bool checks;
    /* set by the decoder if it delivers the picture row by row, so that only one row is in
     * memory */
    bool by_row;
    /* Set by the caller to decode a PNG as a mask: one byte for each pixel, a palette index or a
     * grey value. PNGs with colours or with values of 16 bits are then refused. */
    bool keeps_values;
    /* Number of bytes of image memory that the caller needs in addition to the decoded picture. The
     * decoder takes the memory for both at once from `room`, the image memory that all threads
     * share. */
    uint64_t beside;
    /* Set by the caller if it will copy the picture. Memory for two pictures is then taken. */
    bool copies;
    /* Number of bytes that were taken from `room`, the image memory that all threads share. The
     * code that made this request must give them back. */
    uint64_t taken;
};

/* Returns an error if the picture has no pixels, or more than IMAGE_PIXELS_MOST pixels. */
int pixels_check_size(uint64_t width, uint64_t height, struct sheaf_error *err);
/* Takes image memory for a picture of this size, and maps it. Returns an error if the picture has
 * more than IMAGE_PIXELS_MOST pixels. `library_bytes` is the memory that the decoder's library
 * needs.
 *
 * The function takes all memory for an image at once from the memory that all threads share. If
 * threads took more memory later, they could wait for each other forever. */
int pixels_open(struct pixels *pixels, struct decoding *d, uint64_t width, uint64_t height,
                unsigned channels, uint64_t library_bytes, struct sheaf_error *err);
/* Maps memory for another picture of the same image, for example the resized picture. This function
 * takes no more image memory. So the new picture must not be larger than the picture for which
 * pixels_open was called. */
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
/* Writes the picture to `to`, turned upright. `orientation` is the EXIF orientation of the picture;
 * orientations 5 to 8 exchange width and height. In `to`, each row begins `stride` bytes after the
 * row above it. */
void pixels_turn(const struct turning *from, unsigned orientation, uint8_t *to, size_t stride);
int pixels_upright(struct pixels *pixels, unsigned orientation, struct sheaf_error *err);

/* ---- Decoders --------------------------------------------------------------------------------
 * Each reads the header, takes memory, and decodes.  On failure *pixels is empty, or is closed by
 * the caller. */
typedef int decode_fn(struct decoding *d, struct pixels *pixels, struct sheaf_error *err);
decode_fn decode_jpeg, decode_png, decode_gif, decode_bmp, decode_webp;

#endif
