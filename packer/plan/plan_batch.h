/* SPDX-License-Identifier: MIT
 *
 * Holds a few shards of a plan in memory, with their samples as structs. A plan stores its samples
 * in a shorter form: as records (plan_record.h) in compressed blocks. This form takes about a fifth
 * of the memory of the structs. */
#ifndef PACKER_PLAN_PLAN_BATCH_H
#define PACKER_PLAN_PLAN_BATCH_H

#include "base/buf.h"
#include "packer/plan/plan.h"

#define PLAN_BLOCK_BYTES ((size_t)256 << 10)    /* a block ends where it reaches this size */
#define PLAN_BLOCK_LIMIT ((size_t)64 << 20)     /* maximum size of a block */

/* Appends the records to `out` as one block, and empties `records`. A block consists of its raw
 * size, its stored size, and an LZ4 block. If LZ4 does not make the records smaller, they are
 * stored uncompressed. Appends nothing if there are no records. */
int plan_block_pack(struct buf *records, struct buf *out, struct sheaf_error *err);

/* A few shards of a plan with their samples and files. `plan` has only these shards, but points to
 * the labels of the whole plan. The struct must be zero-initialised. */
struct plan_batch {
    struct plan plan;
    struct catalog catalog;
};

/* Prepares `batch` for the shards `first` to `end` - 1 of the plan `whole`. The shards have no
 * samples yet; plan_batch_take() adds them. */
int plan_batch_begin(struct plan_batch *batch, const struct plan *whole, size_t first, size_t end,
                     struct sheaf_error *err);
/* Adds the samples of the next shard to the batch, from blocks in `data`. Returns an error if they
 * contradict the plan. `block` is a buffer for decompressed records. */
int plan_batch_take(struct plan_batch *batch, const struct plan_shard *shard, uint64_t files,
                    const uint8_t *data, size_t size, struct buf *block,
                    struct sheaf_error *err);
void plan_batch_free(struct plan_batch *batch);

#endif
