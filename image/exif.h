/* SPDX-License-Identifier: MIT
 *
 * Finds out how an image file must be turned: from EXIF, or else from XMP, as Pillow's
 * ImageOps.exif_transpose does. */
#ifndef IMAGE_EXIF_H
#define IMAGE_EXIF_H

#include <stddef.h>
#include <stdint.h>

#include "image/kind.h"

/* Returns the orientation, 1 to 8. Returns 1 if the file states none, or an invalid one. */
unsigned exif_orientation(enum image_kind kind, const uint8_t *data, size_t size);

#endif
