/* SPDX-License-Identifier: MIT
 *
 * RecordIO records of any bytes, which need not belong to a sample. */
#ifndef FORMATS_RECORDIO_H
#define FORMATS_RECORDIO_H

#include "base/buf.h"

#define RECORDIO_HEADER_BYTES 8

/* Makes a record of the bytes appended after RECORDIO_HEADER_BYTES of room at `start`. It fills
 * that room, removes the magic number from the bytes as the format requires, and pads to a multiple
 * of 4. */
int recordio_frame(struct buf *out, size_t start, struct sheaf_error *err);

/* Finds the content of the record at the beginning of `data`. If the record has several parts, they
 * are joined at the end of `joined`, which must have room for `size` more bytes, since it must not
 * grow. Sets *used to the bytes of data used, including header and padding. */
int recordio_content(const uint8_t *data, size_t size, struct buf *joined,
                     const uint8_t **content, size_t *content_size, size_t *used,
                     struct sheaf_error *err);

#endif
