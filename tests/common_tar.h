/* SPDX-License-Identifier: MIT
 *
 * Tar archives of tests, as other writers make them. */
#ifndef TESTS_COMMON_TAR_H
#define TESTS_COMMON_TAR_H

#include "base/buf.h"

/* Appends a header of one block with a right checksum, then data padded to whole blocks.  The
 * magic is "ustar" and "00" unless `magic` (8 bytes) is given.  `bytes` is the size it tells;
 * `size` bytes of data follow. */
struct tar_spec {
    const char *name;
    char type;
    const void *data;
    size_t size;
    uint64_t bytes;             /* 0: size */
    const char *magic;
    const char *prefix;
    const char *size_field;     /* 12 bytes; NULL: octal digits */
};

void tar_put_spec(struct buf *out, const struct tar_spec *spec);

/* A regular ustar member of text. */
void tar_put_file(struct buf *out, const char *name, const char *text);
/* A header of that type with text as its data ('x', 'g', 'L', ...). */
void tar_put_typed(struct buf *out, char type, const char *name, const char *text);
void tar_put_zeros(struct buf *out, size_t blocks);

/* Sums a header anew after it was changed. */
void tar_fix_checksum(uint8_t *header);

#endif
