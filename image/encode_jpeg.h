/* SPDX-License-Identifier: MIT
 *
 * Encodes a picture as a baseline JPEG with halved chroma and without metadata, as Pillow does. */
#ifndef IMAGE_ENCODE_JPEG_H
#define IMAGE_ENCODE_JPEG_H

#include "base/buf.h"
#include "image/pixels.h"
#include "image/planes.h"

/* Appends the JPEG to `out`. Returns SHEAF_ERR_LIMIT if `out` has too little room; it is then
 * unchanged. */
int encode_jpeg(const struct pixels *pixels, int quality, struct buf *out,
                struct sheaf_error *err);
/* Encodes planes. Writes to the last columns of each plane's rows, beyond its width. */
int encode_planes(const struct planes *planes, int quality, struct buf *out,
                  struct sheaf_error *err);

#endif
