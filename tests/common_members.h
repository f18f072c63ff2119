/* SPDX-License-Identifier: MIT
 *
 * Whole gzip members, LZ4 and zstd frames, as other programs write them; and as older releases
 * wrote each block, of the first two. */
#ifndef TESTS_COMMON_MEMBERS_H
#define TESTS_COMMON_MEMBERS_H

#include "base/buf.h"
#include "sheaf.h"

/* Appends one of `size` raw bytes, with all the checksums that it may have. */
void member_append(enum sheaf_codec codec, const void *data, size_t size, struct buf *out);

#endif
