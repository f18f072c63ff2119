/* SPDX-License-Identifier: MIT
 *
 * Detects the container and codec of a stream from its first bytes.  Other compressions are named
 * if their magic is known. */
#ifndef FORMATS_DETECT_H
#define FORMATS_DETECT_H

#include "formats/codec.h"
#include "formats/format.h"

/* Bytes to be shown first, if there are as many. */
#define DETECT_BYTES ((size_t)4 << 10)
/* Never asked for more: a block of LZ4 has up to 4 MiB, and shows nothing before all is there. */
#define DETECT_MOST  ((size_t)5 << 20)

struct detected {
    enum sheaf_codec codec;
    const struct format_ops *format;
};

/* `at_end`: the stream has no more than these bytes.  The name decides where the content, which
 * may be damaged or empty, does not.  *need == 0: *found is set; else call again with *need bytes,
 * or with all that there are.  SHEAF_ERR_UNSUPPORTED, with the magic, for what cannot be read;
 * SHEAF_ERR_CORRUPT if nothing can be unpacked. */
int detect(const uint8_t *data, size_t size, bool at_end, const char *name,
           struct detected *found, size_t *need, struct sheaf_error *err);

#endif
