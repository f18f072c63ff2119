/* SPDX-License-Identifier: MIT
 *
 * Finds the EXIF data and the XMP text in an image file. */
#ifndef IMAGE_EXIF_PLACE_H
#define IMAGE_EXIF_PLACE_H

#include <stddef.h>
#include <stdint.h>

#include "formats/image_kind.h"

/* Size of the buffer for decompressed text, in bytes. Longer texts are decompressed only up to this
 * size, because the orientation is near the beginning. */
#define EXIF_TEXT_BYTES ((size_t)32 << 10)

struct exif_place {
    /* EXIF data and XMP text of the file. A pointer is NULL if the file does not have this content.
     * The content lies in the bytes of the file. If it had to be decompressed or decoded, it lies
     * in the buffer exif_text or xmp_text. */
    const uint8_t *exif, *xmp;
    size_t exif_size, xmp_size;
    uint8_t exif_text[EXIF_TEXT_BYTES], xmp_text[EXIF_TEXT_BYTES];
};

/* Finds the EXIF data and the XMP text, and sets the pointers and sizes in *place. */
void exif_find(enum image_kind kind, const uint8_t *data, size_t size, struct exif_place *place);

#endif
