/* SPDX-License-Identifier: MIT
 *
 * A picture as a baseline JPEG with halved chroma, without metadata: what Pillow writes. */
#ifndef IMAGE_ENCODE_JPEG_H
#define IMAGE_ENCODE_JPEG_H

#include "base/buf.h"
#include "image/pixels.h"
#include "image/planes.h"

/* Appends it.  SHEAF_ERR_LIMIT: `out` has too little room, and is as it was. */
int encode_jpeg(const struct pixels *pixels, int quality, struct buf *out,
                struct sheaf_error *err);
/* Writes to the last columns of each plane's rows, behind its width. */
int encode_planes(const struct planes *planes, int quality, struct buf *out,
                  struct sheaf_error *err);

#endif
