/* SPDX-License-Identifier: MIT
 *
 * Image files: detection of their kind, checks, and conversion to plain JPEGs. A conversion decodes
 * the file, resamples the pixels if the picture should be smaller, turns them upright and encodes
 * them (encode_jpeg). A JPEG that should be smaller is not converted to RGB pixels: its planes are
 * decoded and resampled (planes_of_jpeg), turned upright and encoded (encode_planes).
 *
 * The result depends only on the bytes, the settings and image_libraries(). All arithmetic is on
 * integers, or done by libjpeg-turbo's exact transforms. */
#ifndef IMAGE_IMAGE_H
#define IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "image/kind.h"
#include "image/room.h"

/* The facts in a header. */
struct image_look {
    enum image_kind kind;
    uint32_t width, height;     /* as stored: before the orientation */
    /* for a JPEG: 1 for grey, 3 for colour, 4 for CMYK or YCCK; 0 for other images */
    unsigned components;
    unsigned orientation;       /* EXIF orientation, 1 to 8 */
};

/* Returns the kind of an image by its first bytes. */
enum image_kind image_kind_of(const void *data, size_t size);
/* Returns the kind of an image by the suffix of its file or field ("a.jpg", "jpg", "JPEG"), or
 * IMAGE_UNKNOWN. */
enum image_kind image_kind_named(const char *name);
/* Returns the name of a kind for messages, such as "PNG". */
const char *image_kind_name(enum image_kind kind);
/* Reads kind, width and height from the header of an image. Returns false if the kind is unknown or
 * the header is malformed. */
bool image_look(const void *data, size_t size, struct image_look *look);

/* Computes the size of the picture after it has been turned upright. */
void image_upright_size(const struct image_look *look, uint32_t *width, uint32_t *height);

enum image_resize { IMAGE_SHORTER, IMAGE_LONGER, IMAGE_EXACT };

struct image_settings {
    /* An image is shrunk until the side that `mode` selects has this number of pixels. 0 keeps the
     * size. */
    uint32_t size;
    enum image_resize mode;     /* which side: the shorter, the longer, or both */
    int quality;                /* quality of the JPEG, 1 to 100 */
};

/* Computes the size to which an image with this header is shrunk, after turning it upright. Returns
 * false if the image is small enough already. */
bool image_shrinks(const struct image_look *look, const struct image_settings *settings,
                   uint32_t *width, uint32_t *height);

struct decoding;
struct pixels;
/* Decodes a picture of any kind with the decoder for its kind (see pixels.h). */
int image_decode(struct decoding *d, struct pixels *pixels, struct sheaf_error *err);

/* Decodes every pixel of an image and drops the result. Returns SHEAF_ERR_CORRUPT or
 * SHEAF_ERR_UNSUPPORTED, with a message, if the image is faulty. Other errors do not concern the
 * image. */
int image_check(const void *data, size_t size, const struct image_room *room,
                struct sheaf_error *err);

/* Converts an image to a plain JPEG (grey or RGB, upright, of the size in the settings) and appends
 * it to `out`. Of an animation, converts the first image. Transparency is dropped. Returns the
 * errors of image_check, and SHEAF_ERR_LIMIT if `out` has too little room. */
int image_to_jpeg(const void *data, size_t size, const struct image_settings *settings,
                  const struct image_room *room, struct buf *out, struct sheaf_error *err);

/* Returns the names and versions of the libraries that determine the bytes of image_to_jpeg, as in
 * "libjpeg-turbo 2.1.5, libwebp 1.2.4, resample 2". */
const char *image_libraries(void);

#endif
