/* SPDX-License-Identifier: MIT
 *
 * Reads from an image file how the picture must be turned to be upright. The orientation is taken
 * from the EXIF data, or from the XMP text if the EXIF data has none. Pillow's
 * ImageOps.exif_transpose does the same. */
#ifndef IMAGE_EXIF_H
#define IMAGE_EXIF_H

#include <stddef.h>
#include <stdint.h>

#include "formats/image_kind.h"

/* Returns the EXIF orientation of an image file, a number from 1 to 8. Returns 1 (upright) if the
 * file states no valid orientation. */
unsigned exif_orientation(enum image_kind kind, const uint8_t *data, size_t size);

#endif
