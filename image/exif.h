/* SPDX-License-Identifier: MIT
 *
 * The orientation that a JPEG's EXIF says. */
#ifndef IMAGE_EXIF_H
#define IMAGE_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* 1 to 8; 1 where it says nothing, or nothing that exists. */
unsigned exif_orientation(const uint8_t *jpeg, size_t size);

#endif
