/* SPDX-License-Identifier: MIT
 *
 * How an image file says that it is to be turned: in EXIF, or else in XMP, as Pillow's
 * ImageOps.exif_transpose reads them. */
#ifndef IMAGE_EXIF_H
#define IMAGE_EXIF_H

#include <stddef.h>
#include <stdint.h>

#include "image/kind.h"

/* Returns EXIF's orientation, 1 to 8; 1 if the file says nothing, or nothing that exists. */
unsigned exif_orientation(enum image_kind kind, const uint8_t *data, size_t size);

#endif
