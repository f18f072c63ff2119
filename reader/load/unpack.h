/* SPDX-License-Identifier: MIT
 *
 * Decompresses the wanted parts of a codec block. In small steps, stored bytes are read and
 * decompressed, and the uncompressed bytes between the wanted parts are dropped. Stored bytes after
 * the last wanted part are not read. So a sample of 30 MB needs only a little more than 30 MB of
 * memory.
 *
 * In a block that is damaged or truncated, the samples before the damage are found. Damaged blocks
 * are decompressed by this file even if memory has room for the whole block. So it does not depend
 * on the amount of memory which samples of a damaged block are good. */
#ifndef READER_UNPACK_H
#define READER_UNPACK_H

#include "formats/codec.h"
#include "store/store.h"

/* Uncompressed bytes [skip, skip + size) of the block. */
struct unpack_part {
    uint64_t skip, size;
    uint8_t *raw;                   /* where they are written */
    uint64_t got;                   /* result: number of bytes written */
};

struct unpack {
    const struct codec_ops *codec;
    bool single;                    /* as for codec_ops.decompress */
    struct store_object *object;    /* has stored bytes [begin, end) of the block; */
    const uint8_t *stored;          /* or they are in memory here, if not NULL */
    uint64_t begin, end;
    uint8_t *room;                  /* unpack_room() bytes, to read into */
    /* the wanted parts, in the order in which the block has them; they must not overlap */
    struct unpack_part *parts;
    size_t count;
    /* Results. */
    size_t done;                    /* number of complete parts */
    uint64_t read_bytes;            /* from the object */
    /* whether the block is damaged; the parts then have all its good bytes. After any other
     * error, the parts are not valid. */
    bool is_damaged;
};

/* Returns the memory for the stored bytes of one step, if a block of `stored` stored bytes is
 * decompressed in small steps. */
uint64_t unpack_room(bool is_remote, uint64_t stored);

int unpack_parts(struct unpack *u, struct sheaf_error *err);

#endif
