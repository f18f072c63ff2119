/* SPDX-License-Identifier: MIT
 *
 * Checks a JPEG's header with libjpeg-turbo. */
#ifndef IMAGE_JPEG_HEADER_H
#define IMAGE_JPEG_HEADER_H

#include <stddef.h>

#include "sheaf.h"

struct jpeg_reader;

/* Opens a reader of JPEG headers. The reader must not be used by two threads at once. */
int jpeg_reader_open(struct jpeg_reader **reader, struct sheaf_error *err);
void jpeg_reader_close(struct jpeg_reader *reader);     /* `reader` may be NULL. */

/* Checks the header of a JPEG. Returns NULL if the decoder accepts it, and otherwise a text that
 * says why not. The text is valid until the next call with this reader. */
const char *jpeg_reader_check(struct jpeg_reader *reader, const void *data, size_t size);

#endif
