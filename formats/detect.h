/* SPDX-License-Identifier: MIT
 *
 * Detects the container and codec of a stream from its first bytes. Other compressions are named if
 * their magic number is known. */
#ifndef FORMATS_DETECT_H
#define FORMATS_DETECT_H

#include "formats/codec.h"
#include "formats/format.h"

/* Number of bytes to pass in the first call, if the stream has that many. */
#define DETECT_BYTES ((size_t)4 << 10)
/* Largest number of bytes that a call asks for. A block of LZ4 has up to 4 MiB and must be complete
 * before anything can be decompressed. */
#define DETECT_MOST  ((size_t)5 << 20)

struct detected {
    enum sheaf_codec codec;
    const struct format_ops *format;
};

/* Detects a stream from its first `size` bytes. `at_end` tells that the stream has no more bytes.
 * The name decides if the content, which may be damaged or empty, does not. If *need is 0 on
 * return, *found is set; otherwise the caller must call again with *need bytes, or with all there
 * are. Returns SHEAF_ERR_UNSUPPORTED, with the magic number in the message, if the stream cannot be
 * read, and SHEAF_ERR_CORRUPT if nothing can be decompressed. */
int detect(const uint8_t *data, size_t size, bool at_end, const char *name,
           struct detected *found, size_t *need, struct sheaf_error *err);

#endif
