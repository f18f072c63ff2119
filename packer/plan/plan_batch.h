/* SPDX-License-Identifier: MIT
 *
 * A few shards of a plan in memory, and the compressed form of their samples, which needs about a
 * fifth of this memory: records (plan_record.h) in blocks. */
#ifndef PACKER_PLAN_PLAN_BATCH_H
#define PACKER_PLAN_PLAN_BATCH_H

#include "base/buf.h"
#include "packer/plan/plan.h"

#define PLAN_BLOCK_BYTES ((size_t)256 << 10)    /* a block ends where it reaches this size */
#define PLAN_BLOCK_LIMIT ((size_t)64 << 20)     /* maximum size of a block */

/* Appends the records to `out` as one block, and empties `records`. A block consists of its raw
 * size, its stored size, and an LZ4 block; if LZ4 does not make the records smaller, they are
 * stored uncompressed. If there are no records, nothing is appended. */
int plan_block_pack(struct buf *records, struct buf *out, struct sheaf_error *err);

/* A few shards of a plan with their samples and files. `plan` contains only these shards and points
 * to the labels of the whole plan. Zero-initialised. */
struct plan_batch {
    struct plan plan;
    struct catalog catalog;
};

/* Prepares an empty batch for the shards from `first` up to, but not including, `end`. The shards
 * have no samples yet. */
int plan_batch_begin(struct plan_batch *batch, const struct plan *whole, size_t first, size_t end,
                     struct sheaf_error *err);
/* Fills the next shard of batch->plan.shards from its blocks in `data`, and checks that they agree
 * with the plan. `block` is a buffer for unpacked records. */
int plan_batch_take(struct plan_batch *batch, const struct plan_shard *shard, uint64_t files,
                    const uint8_t *data, size_t size, struct buf *block,
                    struct sheaf_error *err);
void plan_batch_free(struct plan_batch *batch);

#endif
