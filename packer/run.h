/* SPDX-License-Identifier: MIT
 *
 * From a plan into the engine: the shards of a plan, cut into blocks. */
#ifndef PACKER_RUN_H
#define PACKER_RUN_H

#include <stdbool.h>

#include "packer/engine.h"
#include "packer/plan/plan_batch.h"

/* Makes an empty batch that of one shard, the `shard`th of those that run_shards packs or keeps. */
typedef int run_load_fn(void *context, size_t shard, struct plan_batch *batch,
                        struct sheaf_error *err);

/* Packs all shards but those that are kept, and waits until they are in place.  Each is loaded when
 * its turn comes, and dropped when its last block is written.  After a failure nothing is under way
 * that needs them. */
int run_shards(struct engine *e, size_t shard_count, const bool *kept, run_load_fn *load,
               void *context, struct sheaf_error *err);

/* How many threads: a thread that waits for objects costs nothing, and keeps more requests under
 * way. */
unsigned run_jobs(unsigned jobs, bool is_remote);

/* As large as the largest of these shards becomes, about. */
uint64_t run_largest_shard(const struct plan *plan, size_t first, size_t end);

/* SHEAF_ERR_LIMIT: a sample of the plan, which has its samples, takes more memory than that, or a
 * shard that is sent to `dest`.  To be known before anything is read. */
int run_check_memory(const struct plan *plan, const struct block_setup *setup, const char *dest,
                     uint64_t memory_bytes, struct sheaf_error *err);

#endif
