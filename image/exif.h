/* SPDX-License-Identifier: MIT
 *
 * Reads the orientation from a JPEG's EXIF data. */
#ifndef IMAGE_EXIF_H
#define IMAGE_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* Returns 1 to 8, or 1 if there is no orientation or an invalid one. */
unsigned exif_orientation(const uint8_t *jpeg, size_t size);

#endif
