/* SPDX-License-Identifier: MIT
 *
 * Encodes a picture as a baseline JPEG, with the chroma planes at half size and without metadata,
 * as Pillow does. */
#ifndef IMAGE_ENCODE_JPEG_H
#define IMAGE_ENCODE_JPEG_H

#include "base/buf.h"
#include "image/pixels.h"
#include "image/planes.h"

/* Appends the JPEG to `out`. Returns SHEAF_ERR_LIMIT, and leaves `out` unchanged, if `out` has too
 * little room. */
int encode_jpeg(const struct pixels *pixels, int quality, struct buf *out,
                struct sheaf_error *err);
/* Encodes the planes of a picture as a JPEG. The rows of each plane must have room after their
 * width up to whole blocks, which this function fills. */
int encode_planes(const struct planes *planes, int quality, struct buf *out,
                  struct sheaf_error *err);

#endif
