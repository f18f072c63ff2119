/* SPDX-License-Identifier: MIT
 *
 * A pool of open shards for reading samples by their numbers. All threads of a process use one
 * pool. The shards that were used last stay open for later calls.
 *
 * The first call makes the pool, and it is freed together with the data set. A forked child process
 * makes a pool of its own, because threads and connections of the parent do not exist in the child.
 * Also, a thread of the parent may have held the pool's lock during the fork. */
#ifndef READER_SHARD_POOL_H
#define READER_SHARD_POOL_H

#include "reader/load/shards.h"

struct shard_pool;

/* Sets *pool to this process's pool for the data set. Makes the pool if it does not exist. */
int shard_pool_of(const struct sheaf_dataset *dataset, struct shard_pool **pool,
                  struct sheaf_error *err);

/* Returns the threads that the calls share. */
struct workers *shard_pool_workers(const struct shard_pool *pool);

/* Takes a reference to a shard. If the shard is not open, begins to open it, like shards_use.
 * *shard is valid until shard_pool_drop is called. */
int shard_pool_use(struct shard_pool *pool, uint32_t number, struct shard **shard,
                   struct sheaf_error *err);
/* Gives back a reference to a shard. Frees the shard if it could not be opened and has no more
 * references. */
void shard_pool_drop(struct shard_pool *pool, struct shard *shard);

#endif
