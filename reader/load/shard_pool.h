/* SPDX-License-Identifier: MIT
 *
 * The shards that random access has open. All threads of a process that read samples by number
 * share them. The shards used last stay open for the next call.
 *
 * The first call makes the pool. It is freed with the data set. The child of a fork makes a pool of
 * its own, because the parent's threads and connections do not exist there, and the parent's lock
 * may be held. */
#ifndef READER_SHARD_POOL_H
#define READER_SHARD_POOL_H

#include "reader/load/shards.h"

struct shard_pool;

/* Returns the data set's pool in this process, and makes it if necessary. */
int shard_pool_of(const struct sheaf_dataset *dataset, struct shard_pool **pool,
                  struct sheaf_error *err);

/* Returns the threads that the calls share. */
struct workers *shard_pool_workers(const struct shard_pool *pool);

/* Begins to open a shard, or uses a shard that is already open; see shards_use. *shard is valid
 * until shard_pool_drop. */
int shard_pool_use(struct shard_pool *pool, uint32_t number, struct shard **shard,
                   struct sheaf_error *err);
/* Ends the use of a shard. A shard that could not be opened is freed. */
void shard_pool_drop(struct shard_pool *pool, struct shard *shard);

#endif
