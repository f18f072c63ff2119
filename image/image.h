/* SPDX-License-Identifier: MIT
 *
 * Detects the kind of an image file, checks the file, and converts it to a plain JPEG.
 *
 * For a conversion, the image is decoded, resized if necessary, turned upright and encoded
 * (encode_jpeg). A JPEG that must be shrunk is not converted to RGB. Its planes of brightness and
 * colours are decoded and resized (planes_of_jpeg), turned upright, and encoded (encode_planes).
 *
 * The result depends only on the bytes of the file, the settings, and the libraries that
 * image_libraries() names. The resampler uses the same weights on every machine and computes pixels
 * with integers, and libjpeg-turbo is told to use its exact transforms. */
#ifndef IMAGE_IMAGE_H
#define IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "formats/image_kind.h"
#include "image/room.h"

/* The facts in the header of an image. */
struct image_look {
    enum image_kind kind;
    uint32_t width, height;     /* size before the picture is turned upright */
    /* number of colour components of a JPEG: 1 for grey, 3 for colour, 4 for CMYK or YCCK; 0 for
     * images of other kinds */
    unsigned components;
    unsigned orientation;       /* EXIF orientation, 1 to 8 */
};

/* Reads the kind and the size of an image from its header. Returns false if the kind is unknown or
 * the header is malformed. */
bool image_look(const void *data, size_t size, struct image_look *look);

/* Computes the width and height that the picture has after it is turned upright. */
void image_upright_size(const struct image_look *look, uint32_t *width, uint32_t *height);

enum image_resize { IMAGE_SHORTER, IMAGE_LONGER, IMAGE_EXACT };

struct image_settings {
    /* Number of pixels to which an image is shrunk along the side that `mode` selects. 0 means that
     * no image is shrunk. */
    uint32_t size;
    /* tells which sides are limited: the shorter, the longer, or both */
    enum image_resize mode;
    int quality;                /* quality of the JPEG, 1 to 100 */
};

/* Computes the width and height to which an image is shrunk. Both are sizes of the picture after it
 * is turned upright. Returns false if the image need not be shrunk, because it is already small
 * enough. */
bool image_shrinks(const struct image_look *look, const struct image_settings *settings,
                   uint32_t *width, uint32_t *height);

struct decoding;
struct pixels;
/* Decodes a picture of any kind: calls the decoder for its kind (see pixels.h). */
int image_decode(struct decoding *d, struct pixels *pixels, struct sheaf_error *err);

/* Checks an image by decoding all its pixels, which are not kept. Returns SHEAF_ERR_CORRUPT or
 * SHEAF_ERR_UNSUPPORTED, with a message, if the image is faulty. Other errors have other causes,
 * such as too little memory. */
int image_check(const void *data, size_t size, const struct image_room *room,
                struct sheaf_error *err);

/* Converts an image to a plain JPEG (grey or RGB, upright, of the size in the settings) and appends
 * it to `out`. If the file is an animation, its first image is converted. Transparency is dropped.
 *
 * Returns SHEAF_ERR_LIMIT if `out` has too little room, and otherwise the same errors as
 * image_check. */
int image_to_jpeg(const void *data, size_t size, const struct image_settings *settings,
                  const struct image_room *room, struct buf *out, struct sheaf_error *err);

/* Returns the names and versions of the libraries on which the bytes made by image_to_jpeg depend:
 * for example, "libjpeg-turbo 2.1.5, libwebp 1.2.4, resample 2". */
const char *image_libraries(void);

#endif
