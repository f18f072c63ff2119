/* SPDX-License-Identifier: MIT
 *
 * Unpacks parts of a block of a compressed shard in small steps: what is between them is
 * discarded, and what follows the last is not read.
 *
 *     stored:  | read, then | read, then | ...
 *                    v
 *     raw:     | passed over ... | part | passed over | part | not unpacked |
 *
 * So a sample of 30 MB takes little more than 30 MB to be read.  And of a block that is damaged, or
 * cut short, what comes before the damage is found: it is this file that decides which samples a
 * damaged block still has, so that it does not depend on how much memory there is. */
#ifndef READER_UNPACK_H
#define READER_UNPACK_H

#include "formats/codec.h"
#include "store/store.h"

/* Raw bytes [skip, skip + size) of the block. */
struct unpack_part {
    uint64_t skip, size;
    uint8_t *raw;                   /* where they go */
    uint64_t got;                   /* result: how many there are */
};

struct unpack {
    const struct codec_ops *codec;
    bool single;                    /* as for codec_ops.decompress */
    struct store_object *object;    /* has stored bytes [begin, end) of the block; or */
    const uint8_t *stored;          /* they are here: not NULL */
    uint64_t begin, end;
    uint8_t *room;                  /* of unpack_room() bytes, to read into */
    struct unpack_part *parts;      /* in the order of the block, of which they share no byte */
    size_t count;
    /* Results. */
    size_t done;                    /* parts that are whole */
    uint64_t read_bytes;            /* from the object */
    bool is_damaged;                /* the error is of the block, which has no more bytes than
                                       they got; others are final */
};

/* What reading a block of `stored` bytes takes. */
uint64_t unpack_room(bool is_remote, uint64_t stored);

int unpack_parts(struct unpack *u, struct sheaf_error *err);

#endif
