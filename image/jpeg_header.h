/* SPDX-License-Identifier: MIT
 *
 * Checks a JPEG's header with libjpeg-turbo. */
#ifndef IMAGE_JPEG_HEADER_H
#define IMAGE_JPEG_HEADER_H

#include <stddef.h>

#include "sheaf.h"

struct jpeg_reader;

/* For one thread at a time. */
int jpeg_reader_open(struct jpeg_reader **reader, struct sheaf_error *err);
void jpeg_reader_close(struct jpeg_reader *reader);     /* NULL is fine */

/* NULL if the decoder takes the header, else why not: the reader's, until its next call. */
const char *jpeg_reader_check(struct jpeg_reader *reader, const void *data, size_t size);

#endif
