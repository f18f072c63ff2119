/* SPDX-License-Identifier: MIT
 *
 * Detects the container and codec of a stream from its first bytes. If Sheaf recognises the
 * compression but cannot decompress it, the error message names it. */
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
 * stream has no more bytes. If the content is damaged or empty, the file name `name` decides.
 *
 * Sets *need to 0 and fills *found when the result is known. Otherwise sets *need to a number of
 * bytes: the caller must call again with this number of bytes, or with the whole stream if it is
 * shorter.
 *
 * Returns SHEAF_ERR_UNSUPPORTED, with the magic number in the message, if Sheaf cannot read such a
 * stream. Returns SHEAF_ERR_CORRUPT if nothing can be decompressed. */
int detect(const uint8_t *data, size_t size, bool at_end, const char *name,
           struct detected *found, size_t *need, struct sheaf_error *err);

#endif
