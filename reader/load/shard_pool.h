/* SPDX-License-Identifier: MIT
 *
 * A pool of open shards, for reading samples by number. All threads of a process share the pool.
 * The shards that were used last stay open for later calls.
 *
 * The first call makes the pool. The pool is freed with the data set. A forked child makes a pool
 * of its own, because the parent's threads and connections do not exist in the child, and the
 * parent's lock may be held. */
#ifndef READER_SHARD_POOL_H
#define READER_SHARD_POOL_H

#include "reader/load/shards.h"

struct shard_pool;

/* Returns this process's pool for the data set, and makes it if necessary. */
int shard_pool_of(const struct sheaf_dataset *dataset, struct shard_pool **pool,
                  struct sheaf_error *err);

/* Returns the threads that the calls share. */
struct workers *shard_pool_workers(const struct shard_pool *pool);

/* Takes a reference to a shard, and begins to open the shard unless it is open already; see
 * shards_use. *shard is valid until shard_pool_drop. */
int shard_pool_use(struct shard_pool *pool, uint32_t number, struct shard **shard,
                   struct sheaf_error *err);
/* Gives up a reference to a shard. If the shard could not be opened, it is freed. */
void shard_pool_drop(struct shard_pool *pool, struct shard *shard);

#endif
