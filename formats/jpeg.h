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
    /* 1 for grey, 3 for colour, 4 for CMYK or YCCK images */
    unsigned components;
};

/* Reads the markers up to the frame header (SOF). Returns false if the data is not a JPEG or has no
 * frame header. */
bool jpeg_size(const void *data, size_t size, struct jpeg_info *info);

/* Returns the data after the text `begins` in the first APP1 segment that begins with this text and
 * precedes the image data. Returns NULL if there is no such segment. */
const uint8_t *jpeg_app1(const void *data, size_t size, const char *begins, size_t begins_size,
                         size_t *rest_size);

/* Walks all markers to the end of the image. Returns NULL if the file is complete; otherwise
 * returns the fault as static text that fits after "path: ". Fills `info` if there is a frame
 * header, and zeroes it otherwise. */
const char *jpeg_check_whole(const void *data, size_t size, struct jpeg_info *info);
/* Checks a JPEG like jpeg_check_whole. CMYK images also count as faulty. */
const char *jpeg_check(const void *data, size_t size, struct jpeg_info *info);

#endif
