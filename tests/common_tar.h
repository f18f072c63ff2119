/* SPDX-License-Identifier: MIT
 *
 * Makes tar archives for tests, in the forms that other programs write. */
#ifndef TESTS_COMMON_TAR_H
#define TESTS_COMMON_TAR_H

#include "base/buf.h"

/* A member to append: a header of one block with a correct checksum, then data that is padded to
 * whole blocks. The magic is "ustar" and "00" unless `magic` (8 bytes) is given. The header states
 * the size `bytes`; `size` bytes of data follow. */
struct tar_spec {
    const char *name;
    char type;
    const void *data;
    size_t size;
    uint64_t bytes;             /* 0 means `size` */
    const char *magic;
    const char *prefix;
    const char *size_field;     /* size field of 12 bytes; NULL for octal digits */
};

void tar_put_spec(struct buf *out, const struct tar_spec *spec);

/* Appends a regular ustar member with this text. */
void tar_put_file(struct buf *out, const char *name, const char *text);
/* Appends a header of this type ('x', 'g', 'L', ...) with the text as its data. */
void tar_put_typed(struct buf *out, char type, const char *name, const char *text);
void tar_put_zeros(struct buf *out, size_t blocks);

/* Computes the checksum of a header again after the header was changed. */
void tar_fix_checksum(uint8_t *header);

#endif
