/* SPDX-License-Identifier: MIT
 *
 * The shards that random access has open: shared by all threads of a process that read from a data
 * set by number, and the latest kept open for the next call.
 *
 * It is made by the first call and goes with the data set.  The child of a fork makes one of its
 * own: threads and connections of the parent's are not there, and its lock may be held. */
#ifndef READER_SHARD_POOL_H
#define READER_SHARD_POOL_H

#include "reader/load/shards.h"

struct shard_pool;

/* The data set's in this process. */
int shard_pool_of(const struct sheaf_dataset *dataset, struct shard_pool **pool,
                  struct sheaf_error *err);

/* The threads of its calls. */
struct workers *shard_pool_workers(const struct shard_pool *pool);

/* Begins to open a shard, or takes part in one that is open: see shards_use.  *shard is the
 * caller's until shard_pool_drop. */
int shard_pool_use(struct shard_pool *pool, uint32_t number, struct shard **shard,
                   struct sheaf_error *err);
/* What could not be opened is not kept. */
void shard_pool_drop(struct shard_pool *pool, struct shard *shard);

#endif
