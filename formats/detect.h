/* SPDX-License-Identifier: MIT
 *
 * Detects the container and codec of a stream from its first bytes. If Sheaf recognises a
 * compression that it cannot decompress, the error message names this compression. */
#ifndef FORMATS_DETECT_H
#define FORMATS_DETECT_H

#include "formats/codec.h"
#include "formats/format.h"

/* Number of bytes that the caller passes to the first call of detect(). If the stream is shorter,
 * the caller passes all of it. */
#define DETECT_BYTES ((size_t)4 << 10)
/* Largest number of bytes that detect() may ask for. An LZ4 block has up to 4 MiB, and it must be
 * complete before any of it can be decompressed. */
#define DETECT_MOST  ((size_t)5 << 20)

struct detected {
    enum sheaf_codec codec;
    const struct format_ops *format;
};

/* Detects the container and codec of a stream from its first `size` bytes. `at_end` means that the
 * stream has no more bytes. If these bytes match no container, or if the stream is empty, the
 * suffix of the file name `name` decides.
 *
 * When the result is known, sets *need to 0 and fills *found. Otherwise sets *need to a number of
 * bytes. The caller must then call again with this number of bytes, or with the whole stream if the
 * stream is shorter.
 *
 * Returns SHEAF_ERR_UNSUPPORTED if Sheaf cannot read streams of this kind. The message then has the
 * magic number. Returns SHEAF_ERR_CORRUPT if the stream is compressed but its first bytes cannot be
 * decompressed. */
int detect(const uint8_t *data, size_t size, bool at_end, const char *name,
           struct detected *found, size_t *need, struct sheaf_error *err);

#endif
