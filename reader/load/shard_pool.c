/* SPDX-License-Identifier: MIT
 *
 * Keeps shards open for random access; see shard_pool.h. */
#include "reader/load/shard_pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/dataset/listed.h"

#define THREADS_MOST  8u
/* Largest number of unused shards that stay open. Each open shard needs one or two file
 * descriptors. */
#define IDLE_MOST     64u
/* largest total size of the index sections of unused shards, in bytes */
#define IDLE_BYTES    ((uint64_t)256 << 20)

struct shard_pool {
    struct dataset_cache base;
    pid_t process;
    struct workers *workers;
    /* the cache from which shards are read, if the data set was opened offline; otherwise NULL */
    struct cache *cache;
    struct budget budget;               /* budget for index sections; guarded by the lock */
    pthread_mutex_t lock;
    struct {
        struct shards shards;
    } locked;
};

static void pool_free(struct dataset_cache *cache)
{
    struct shard_pool *pool = (struct shard_pool *)(void *)cache;

    if (pool->process != getpid())
        return;                         /* The pool belongs to the parent process. */
    if (pool->locked.shards.dataset != NULL)
        (void)shards_trim(&pool->locked.shards);
    workers_close(pool->workers);
    if (pool->locked.shards.dataset != NULL)
        shards_free(&pool->locked.shards);
    cache_close(pool->cache);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static int pool_open(const struct sheaf_dataset *d, struct shard_pool **result,
                     struct sheaf_error *err)
{
    struct shard_pool *pool = calloc(1, sizeof(*pool));
    int code;

    if (pool == NULL)
        return err_memory(err, sizeof(*pool));
    pool->base.release = pool_free;
    pool->process = getpid();
    /* The budget of the pool has no limit, because the shards that are in use are needed in any
     * case. Only unused shards are limited: their index sections may take IDLE_BYTES in total. */
    pool->budget.limit = UINT64_MAX;
    pthread_mutex_init(&pool->lock, NULL);
    code = workers_open(&pool->workers, dataset_is_local(d)
                        ? MIN(workers_processors(), THREADS_MOST) : THREADS_MOST, err);
    if (code == SHEAF_OK)
        code = listed_open_cache(d, &pool->cache, err);
    if (code == SHEAF_OK)
        code = shards_init(&pool->locked.shards, d, pool->workers, &pool->budget, pool->cache, err);
    if (code != SHEAF_OK) {
        pool_free(&pool->base);
        return code;
    }
    pool->locked.shards.idle_most = IDLE_MOST;
    pool->locked.shards.idle_most_bytes = IDLE_BYTES;
    *result = pool;
    return SHEAF_OK;
}

int shard_pool_of(const struct sheaf_dataset *dataset, struct shard_pool **result,
                  struct sheaf_error *err)
{
    struct sheaf_dataset *d = (struct sheaf_dataset *)(uintptr_t)dataset;
    struct dataset_cache *there = atomic_load(&d->cache);
    struct shard_pool *own = NULL;
    int code;

    *result = (struct shard_pool *)(void *)there;
    if (there != NULL && (*result)->process == getpid())
        return SHEAF_OK;
    code = pool_open(dataset, &own, err);
    if (code != SHEAF_OK)
        return code;
    *result = own;
    if (!atomic_compare_exchange_strong(&d->cache, &there, &own->base)) {
        pool_free(&own->base);          /* Another thread has already set a pool. */
        *result = (struct shard_pool *)(void *)there;
    }
    return SHEAF_OK;
}

struct workers *shard_pool_workers(const struct shard_pool *pool)
{
    return pool->workers;
}

int shard_pool_use(struct shard_pool *pool, uint32_t number, struct shard **shard,
                   struct sheaf_error *err)
{
    int code;

    pthread_mutex_lock(&pool->lock);
    code = shards_use(&pool->locked.shards, number, false, shard, err);
    pthread_mutex_unlock(&pool->lock);
    return code;
}

void shard_pool_drop(struct shard_pool *pool, struct shard *shard)
{
    pthread_mutex_lock(&pool->lock);
    shards_drop(&pool->locked.shards, shard);
    pthread_mutex_unlock(&pool->lock);
}
