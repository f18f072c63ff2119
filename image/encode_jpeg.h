/* SPDX-License-Identifier: MIT
 *
 * Encodes a picture as a baseline JPEG, in the same form as Pillow does. The planes for colours
 * have half the width and height of the picture, and the file has no metadata. */
#ifndef IMAGE_ENCODE_JPEG_H
#define IMAGE_ENCODE_JPEG_H

#include "base/buf.h"
#include "image/pixels.h"
#include "image/planes.h"

/* Encodes a picture as a JPEG and appends the JPEG to `out`. If `out` has too little room, returns
 * SHEAF_ERR_LIMIT and leaves `out` unchanged. */
int encode_jpeg(const struct pixels *pixels, int quality, struct buf *out,
                struct sheaf_error *err);
/* Encodes the planes of a picture (brightness and colours) as a JPEG, and appends the JPEG to
 * `out`. Each row must have room for whole blocks after its last pixel. This function fills that
 * room. */
int encode_planes(const struct planes *planes, int quality, struct buf *out,
                  struct sheaf_error *err);

#endif
