/* SPDX-License-Identifier: MIT
 *
 * RecordIO records with any content, which need not be a sample. */
#ifndef FORMATS_RECORDIO_H
#define FORMATS_RECORDIO_H

#include "base/buf.h"

#define RECORDIO_HEADER_BYTES 8

/* Makes a RecordIO record of bytes in `out`. RECORDIO_HEADER_BYTES of free room begin at `start`,
 * and the bytes follow this room. Writes the header into the room, removes the magic number from
 * the bytes as the format requires, and pads to a multiple of 4. */
int recordio_frame(struct buf *out, size_t start, struct sheaf_error *err);

/* Finds the content of the record at the beginning of `data`. If the record has several parts, they
 * are joined at the end of `joined`. This buffer must already have room for `size` more bytes,
 * because growing could move its content. Sets *used to the number of bytes of the record,
 * including header and padding. */
int recordio_content(const uint8_t *data, size_t size, struct buf *joined,
                     const uint8_t **content, size_t *content_size, size_t *used,
                     struct sheaf_error *err);

#endif
