/* SPDX-License-Identifier: MIT
 *
 * Makes and reads RecordIO records with any content. The content need not be a sample. */
#ifndef FORMATS_RECORDIO_H
#define FORMATS_RECORDIO_H

#include "base/buf.h"

#define RECORDIO_HEADER_BYTES 8

/* Turns the bytes at the end of `out` into a RecordIO record. The caller must have left
 * RECORDIO_HEADER_BYTES of room at `start`, and the bytes must follow the room. Writes the header
 * into the room, removes the magic number from the bytes as the format requires, and adds zeros up
 * to a multiple of 4. */
int recordio_frame(struct buf *out, size_t start, struct sheaf_error *err);

/* Finds the content of the RecordIO record at the beginning of `data`, and sets *used to the number
 * of bytes of the record, including header and padding. If the record has several parts, their data
 * is joined at the end of `joined`. The caller must have reserved room for `size` more bytes there.
 * The buffer must not move, because callers point into it. */
int recordio_content(const uint8_t *data, size_t size, struct buf *joined,
                     const uint8_t **content, size_t *content_size, size_t *used,
                     struct sheaf_error *err);

#endif
