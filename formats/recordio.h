/* SPDX-License-Identifier: MIT
 *
 * RecordIO records of any bytes, which need not be a sample's. */
#ifndef FORMATS_RECORDIO_H
#define FORMATS_RECORDIO_H

#include "base/buf.h"

#define RECORDIO_HEADER_BYTES 8

/* Makes a record of what was appended behind RECORDIO_HEADER_BYTES of room at `start`: fills that
 * room, takes the magic out of the bytes as the format asks, and pads to a multiple of 4. */
int recordio_frame(struct buf *out, size_t start, struct sheaf_error *err);

/* The bytes of the record that `data` begins with, its parts rejoined behind what `joined` has,
 * which must not need to grow: room for `size` bytes is enough.  *used: of data, the header and
 * padding included. */
int recordio_content(const uint8_t *data, size_t size, struct buf *joined,
                     const uint8_t **content, size_t *content_size, size_t *used,
                     struct sheaf_error *err);

#endif
