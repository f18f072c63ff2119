/* SPDX-License-Identifier: MIT
 *
 * Decompresses the wanted parts of a codec block in small steps. The uncompressed bytes between
 * these parts are dropped, and the stored bytes after the last part are not read. So a sample of 30
 * MB needs little more than 30 MB of memory, even if the block is larger.
 *
 * If a block is damaged or truncated, the samples before the damage are found. Damaged blocks are
 * always decompressed by this file, even if there is memory for the whole block. So the number of
 * good samples in a damaged block does not depend on the amount of memory. */
#ifndef READER_UNPACK_H
#define READER_UNPACK_H

#include "formats/codec.h"
#include "store/store.h"

/* Uncompressed bytes [skip, skip + size) of the block. */
struct unpack_part {
    uint64_t skip, size;
    uint8_t *raw;                   /* destination of these bytes */
    uint64_t got;                   /* result: number of bytes written to `raw` */
};

struct unpack {
    const struct codec_ops *codec;
    bool single;                    /* argument `single` of codec_ops.decompress */
    /* object with the stored bytes of the block, from `begin` to `end` - 1 */
    struct store_object *object;
    uint64_t begin, end;
    /* Buffer of `room_bytes` bytes for stored bytes of the block. It already has the first `held`
     * of them. The others are read into it when they are needed. */
    uint8_t *room;
    uint64_t room_bytes, held;
    /* The parts of the block that are wanted, in ascending order. They must not overlap. */
    struct unpack_part *parts;
    size_t count;
    /* The following fields are results. */
    size_t done;                    /* number of complete parts */
    uint64_t read_bytes;            /* number of bytes read from the object */
    /* True if the block is damaged. In this case, the parts have all bytes before the damage, and
     * these bytes are valid. After any other error, the bytes of the parts are not valid. */
    bool is_damaged;
};

/* Returns the number of stored bytes that are read at a time if a block is decompressed with little
 * memory. */
uint64_t unpack_step(bool is_remote);

int unpack_parts(struct unpack *u, struct sheaf_error *err);

#endif
