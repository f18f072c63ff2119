/* SPDX-License-Identifier: MIT
 *
 * Detects the container and codec of a stream from its first bytes. If Sheaf knows the magic number
 * of a compression but cannot decompress it, the error message names the compression. */
#ifndef FORMATS_DETECT_H
#define FORMATS_DETECT_H

#include "formats/codec.h"
#include "formats/format.h"

/* Number of bytes to pass to the first call of detect(). A shorter stream is passed whole. */
#define DETECT_BYTES ((size_t)4 << 10)
/* Largest number of bytes that detect() asks for. An LZ4 block has up to 4 MiB, and must be
 * complete before anything can be decompressed. */
#define DETECT_MOST  ((size_t)5 << 20)

struct detected {
    enum sheaf_codec codec;
    const struct format_ops *format;
};

/* Detects a stream from its first `size` bytes. `at_end` tells that the stream has no more bytes.
 * If the content is damaged or empty, the name decides. If *need is 0 on return, *found is set.
 * Otherwise the caller must call again with *need bytes, or with all bytes of the stream if it has
 * fewer. Returns SHEAF_ERR_UNSUPPORTED, with the magic number in the message, if Sheaf cannot read
 * the stream, and SHEAF_ERR_CORRUPT if nothing can be decompressed. */
int detect(const uint8_t *data, size_t size, bool at_end, const char *name,
           struct detected *found, size_t *need, struct sheaf_error *err);

#endif
