/* SPDX-License-Identifier: MIT
 *
 * Some shards of a plan, and their compressed form: records (plan_record.h) in blocks that take a
 * fifth of the memory. */
#ifndef PACKER_PLAN_PLAN_BATCH_H
#define PACKER_PLAN_PLAN_BATCH_H

#include "base/buf.h"
#include "packer/plan/plan.h"

#define PLAN_BLOCK_BYTES ((size_t)256 << 10)    /* a block ends where it reaches this */
#define PLAN_BLOCK_LIMIT ((size_t)64 << 20)     /* and has at most this */

/* Appends the records as a block - its size, its size as stored, and LZ4's block, or the bytes as
 * they are if that is not smaller - and empties them.  Of no records, nothing. */
int plan_block_pack(struct buf *records, struct buf *out, struct sheaf_error *err);

/* Some shards of a plan, with their samples and files: a plan of its own, that has these shards
 * only, and points to the labels of the whole.  Zero-initialised. */
struct plan_batch {
    struct plan plan;
    struct catalog catalog;
};

/* Makes an empty batch one of the shards from `first` to before `end`, which have no samples yet.
 */
int plan_batch_begin(struct plan_batch *batch, const struct plan *whole, size_t first, size_t end,
                     struct sheaf_error *err);
/* Fills the next shard, one of batch->plan.shards, from its blocks, which must be what the plan
 * says of it.  `block`: room to unpack them. */
int plan_batch_take(struct plan_batch *batch, const struct plan_shard *shard, uint64_t files,
                    const uint8_t *data, size_t size, struct buf *block,
                    struct sheaf_error *err);
void plan_batch_free(struct plan_batch *batch);

#endif
