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
    unsigned components;        /* 1: grey; 3: colour; 4: CMYK or YCCK */
};

/* Reads up to the frame header (SOF).  False if it is no JPEG, or has no such header. */
bool jpeg_size(const void *data, size_t size, struct jpeg_info *info);

/* What follows "Exif\0\0" in the first such segment before the image data; NULL without one. */
const uint8_t *jpeg_exif(const void *data, size_t size, size_t *exif_size);

/* Walks all markers to the end of the image.  NULL if the file is whole; else what is wrong, as
 * static text that fits after "path: ".
 * `info` is written if there is a frame header, else zeroed. */
const char *jpeg_check_whole(const void *data, size_t size, struct jpeg_info *info);
/* The same, and CMYK is wrong, too. */
const char *jpeg_check(const void *data, size_t size, struct jpeg_info *info);

#endif
