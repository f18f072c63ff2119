/* SPDX-License-Identifier: MIT
 *
 * Makes whole gzip members, LZ4 frames and zstd frames, as other programs write them. (Older
 * releases wrote each block as a whole gzip member or LZ4 frame.) */
#ifndef TESTS_COMMON_MEMBERS_H
#define TESTS_COMMON_MEMBERS_H

#include "base/buf.h"
#include "sheaf.h"

/* Appends one member or frame with `size` raw bytes, and with all checksums that the format
 * allows. */
void member_append(enum sheaf_codec codec, const void *data, size_t size, struct buf *out);

#endif
