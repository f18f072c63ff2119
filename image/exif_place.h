/* SPDX-License-Identifier: MIT
 *
 * Where EXIF and XMP are in an image file. */
#ifndef IMAGE_EXIF_PLACE_H
#define IMAGE_EXIF_PLACE_H

#include <stddef.h>
#include <stdint.h>

#include "image/kind.h"

/* The first bytes of a compressed text are unpacked, because the orientation is at the beginning of
 * EXIF data. */
#define EXIF_TEXT_BYTES ((size_t)32 << 10)

struct exif_place {
    const uint8_t *exif, *xmp;      /* point into the file or into a text below; NULL if there is
                                       none */
    size_t exif_size, xmp_size;
    uint8_t exif_text[EXIF_TEXT_BYTES], xmp_text[EXIF_TEXT_BYTES];
};

/* Sets the fields except the texts. */
void exif_find(enum image_kind kind, const uint8_t *data, size_t size, struct exif_place *place);

#endif
