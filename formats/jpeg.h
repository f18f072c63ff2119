/* SPDX-License-Identifier: MIT
 *
 * Checks the markers of a JPEG, without decoding it. */
#ifndef FORMATS_JPEG_H
#define FORMATS_JPEG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jpeg_info {
    uint32_t width, height;
    /* number of colour components: 1 for grey, 3 for colour, 4 for CMYK or YCCK images */
    unsigned components;
};

/* Fills `info` from the frame header (SOF) of a JPEG. Returns false if the data is not a JPEG or
 * has no frame header. */
bool jpeg_size(const void *data, size_t size, struct jpeg_info *info);

/* Among the APP1 segments before the image data, finds the first segment that begins with the text
 * `begins` (such as "Exif"). Returns the segment's data after this text, or NULL if there is no
 * such segment. */
const uint8_t *jpeg_app1(const void *data, size_t size, const char *begins, size_t begins_size,
                         size_t *rest_size);

/* Returns NULL if the JPEG is complete up to its end marker. Otherwise returns the fault as static
 * text that fits after "path: ". Fills `info` from the frame header, or with
 * zeros if the image lacks a frame header. */
const char *jpeg_check_whole(const void *data, size_t size, struct jpeg_info *info);
/* Checks a JPEG like jpeg_check_whole(), and also returns a fault if the image is CMYK. */
const char *jpeg_check(const void *data, size_t size, struct jpeg_info *info);

#endif
