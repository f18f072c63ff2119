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

/* What is left of the memory for blocks.  SHEAF_ERR_LIMIT: there is no room even for what is sent
 * to `dest`. */
int run_memory_left(const struct block_setup *setup, const char *dest, uint64_t largest_shard,
                    uint64_t memory_bytes, uint64_t *left, struct sheaf_error *err);
/* SHEAF_ERR_LIMIT: a sample of so many bytes in so many files cannot be packed with what is left,
 * whatever its block has beside it. */
int run_check_sample(const struct block_setup *setup, const char *key, size_t key_size,
                     uint64_t bytes, uint64_t files, uint64_t left, struct sheaf_error *err);

/* SHEAF_ERR_LIMIT: a sample of the plan, which has its samples, takes more memory than that, or a
 * shard that is sent to `dest`.  To be known before anything is read. */
int run_check_memory(const struct plan *plan, const struct block_setup *setup, const char *dest,
                     uint64_t memory_bytes, struct sheaf_error *err);

#endif
