/* SPDX-License-Identifier: MIT
 *
 * Images as files: what they are by their content, whether they decode, and the plain JPEG that is
 * made of one.
 *
 *     bytes -> decode (by kind) -> resample -> upright -> encode_jpeg -> bytes
 *     JPEG to be smaller -> planes_of_jpeg -> upright -> encode_planes -> bytes
 *
 * The result is a function of the bytes, the settings and image_libraries() alone: all arithmetic
 * is of integers, and of libjpeg-turbo's exact transforms. */
#ifndef IMAGE_IMAGE_H
#define IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "image/room.h"

enum image_kind { IMAGE_UNKNOWN, IMAGE_JPEG, IMAGE_PNG, IMAGE_GIF, IMAGE_BMP, IMAGE_WEBP };

/* What a header says. */
struct image_look {
    enum image_kind kind;
    uint32_t width, height;     /* as stored: before the orientation */
    unsigned components;        /* of a JPEG: 1 grey, 3 colour, 4 CMYK or YCCK; else 0 */
    unsigned orientation;       /* EXIF's, of a JPEG: 1 to 8 */
};

/* The kind by the first bytes, and its name: "PNG". */
enum image_kind image_kind_of(const void *data, size_t size);
const char *image_kind_name(enum image_kind kind);
/* Reads width and height from a header.  False if it is not of a kind known, or malformed. */
bool image_look(const void *data, size_t size, struct image_look *look);

enum image_resize { IMAGE_SHORTER, IMAGE_LONGER, IMAGE_EXACT };

struct image_settings {
    uint32_t size;              /* 0: as it is; else of the side that the mode says, */
    enum image_resize mode;     /*   or of both */
    int quality;                /* of the JPEG: 1 to 100 */
};

/* The size, upright, to which the settings shrink an image with this header.  False: they do not
 * shrink it, because it is already small enough. */
bool image_shrinks(const struct image_look *look, const struct image_settings *settings,
                   uint32_t *width, uint32_t *height);

/* Decodes every pixel, and keeps none.  SHEAF_ERR_CORRUPT or _UNSUPPORTED with what is wrong; other
 * errors are not of the image. */
int image_check(const void *data, size_t size, const struct image_room *room,
                struct sheaf_error *err);

/* Appends a plain JPEG, grey or RGB, upright and of the size that the settings say.  Of an
 * animation it is of the first image; transparency is dropped.  Errors as of image_check, and
 * SHEAF_ERR_LIMIT: `out` has too little room. */
int image_to_jpeg(const void *data, size_t size, const struct image_settings *settings,
                  const struct image_room *room, struct buf *out, struct sheaf_error *err);

/* The libraries and versions that determine the bytes of image_to_jpeg: "libjpeg-turbo 2.1.5,
 * libwebp 1.2.4, resample 2". */
const char *image_libraries(void);

#endif
