/* SPDX-License-Identifier: MIT
 *
 * Finds out how a picture must be turned to be upright. The orientation comes from EXIF data, or
 * from XMP if EXIF has no orientation, as in Pillow's ImageOps.exif_transpose. */
#ifndef IMAGE_EXIF_H
#define IMAGE_EXIF_H

#include <stddef.h>
#include <stdint.h>

#include "image/kind.h"

/* Returns the orientation of an image file, 1 to 8. Returns 1 if the file states no orientation, or
 * an invalid one. */
unsigned exif_orientation(enum image_kind kind, const uint8_t *data, size_t size);

#endif
