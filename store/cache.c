/* SPDX-License-Identifier: MIT
 *
 * Reads through the cache. A read is a job of the cache's own threads, which wait for files and for
 * the network. Of the needed blocks, cached ones are copied. A sequence of missing blocks that the
 * read covers completely is fetched by one request, directly into the caller's memory. A block that
 * the read covers only in part (the first or last one) is fetched as a whole into the thread's
 * memory, since the neighbouring read will need the rest.
 *
 *     blocks   |  kept  |  kept  | missing | missing | missing |
 *     read          |--copy-----|--------one GET-----|-GET-|
 *
 * Each block of an object is UNKNOWN, BUSY with one thread while others wait, or GOOD. */
#include "store/cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/timed_wait.h"
#include "base/workers.h"
#include "store/interrupt.h"

#define THREADS 16
#define CANCEL_NS 50000000        /* interval at which a cancellation is checked */

enum block_state { BLOCK_UNKNOWN, BLOCK_BUSY, BLOCK_GOOD };

struct cache {
    struct cache_files files;
    struct workers *workers;
    bool is_offline;            /* whether requests are forbidden */
    atomic_uint_fast64_t hit_bytes, fetched_bytes, uncached;
};

struct task;

struct cached_object {
    struct store_object base;
    struct store_object *inner;
    struct cache *cache;
    /* text from the caller that identifies the content of the object. NULL if the caller has given
     * no such text; the content is then identified by the version (such as an ETag) of the original
     * object `inner`. */
    char *version;
    char name[CACHE_NAME_BYTES];
    uint64_t block_count;
    pthread_mutex_t lock;       /* guards the states, and every read's `state` */
    /* signalled when a block is no longer BUSY (a thread has finished its work on the block), and
     * when an asynchronous read from the original object has ended */
    pthread_cond_t settled;
    uint8_t *states;            /* enum block_state, of each block */
    struct task *tasks;
};

/* An asynchronous read from a cached object. When the read has ended, its task is reused for
 * another read. */
struct task {
    struct job job;
    struct task *next;
    /* the read of this task, or NULL if the read has ended; guarded by the lock of the object */
    struct store_read *read;
    atomic_bool cancelled;
};

/* A request of a task. */
struct cache_fetch {
    struct store_read read;
    struct cached_object *owner;
    bool done;                  /* guarded by owner->lock */
};

static struct cached_object *cache_object_of(struct store_object *object)
{
    return (struct cached_object *)object;
}

static size_t block_size(const struct cached_object *o, uint64_t block)
{
    return (size_t)MIN((uint64_t)CACHE_BLOCK, o->base.bytes - block * CACHE_BLOCK);
}

/* ---- The states of blocks -------------------------------------------------------------------- */

/* Waits until no other thread works on the block. Then returns GOOD if the block is in the cache.
 * Otherwise marks the block as BUSY, so that only this thread works on it, and returns UNKNOWN. */
static enum block_state cache_claim(struct cached_object *o, uint64_t block)
{
    enum block_state state;

    pthread_mutex_lock(&o->lock);
    while (o->states[block] == BLOCK_BUSY)
        pthread_cond_wait(&o->settled, &o->lock);
    state = (enum block_state)o->states[block];
    if (state == BLOCK_UNKNOWN)
        o->states[block] = BLOCK_BUSY;
    pthread_mutex_unlock(&o->lock);
    return state;
}

/* Marks a block as BUSY, so that only this thread works on it. Does not wait. Returns false if
 * another thread works on the block, or if the block is in the cache (GOOD). */
static bool try_claim(struct cached_object *o, uint64_t block)
{
    bool claimed;

    pthread_mutex_lock(&o->lock);
    claimed = o->states[block] == BLOCK_UNKNOWN;
    if (claimed)
        o->states[block] = BLOCK_BUSY;
    pthread_mutex_unlock(&o->lock);
    return claimed;
}

static void cache_settle(struct cached_object *o, uint64_t block, enum block_state state)
{
    pthread_mutex_lock(&o->lock);
    o->states[block] = (uint8_t)state;
    pthread_cond_broadcast(&o->settled);
    pthread_mutex_unlock(&o->lock);
}

/* Marks a block as UNKNOWN after its bytes were removed from the cache. Until then, it was marked
 * as GOOD. */
static void cache_forget(struct cached_object *o, uint64_t block)
{
    pthread_mutex_lock(&o->lock);
    if (o->states[block] == BLOCK_GOOD)
        o->states[block] = BLOCK_UNKNOWN;
    pthread_mutex_unlock(&o->lock);
}

/* ---- Fetching -------------------------------------------------------------------------------- */

static void cache_fetch_done(struct store_read *read)
{
    struct cache_fetch *f = (struct cache_fetch *)read;

    pthread_mutex_lock(&f->owner->lock);
    f->done = true;
    pthread_cond_broadcast(&f->owner->settled);
    pthread_mutex_unlock(&f->owner->lock);
}

/* Reads bytes from the original object, not from the cache. If the task is cancelled, stops before
 * all bytes are read. */
static int cache_do_fetch(struct cached_object *o, struct task *task, uint64_t offset, void *data,
                          size_t size, struct sheaf_error *err)
{
    struct cache_fetch f = { .owner = o, .read = { .object = o->inner, .offset = offset,
                                                   .data = data,
                                             .size = size, .done = cache_fetch_done } };

    if (o->cache->is_offline)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: its %zu bytes at %llu are not in the "
                       "cache, and the data set was opened offline", o->base.url, size,
                       (unsigned long long)offset);
    store_read_start(&f.read);
    pthread_mutex_lock(&o->lock);
    while (!f.done) {
        (void)wait_for(&o->settled, &o->lock, CANCEL_NS);
        if (!f.done && ((task != NULL && atomic_load(&task->cancelled)) ||
                        interrupt_is_raised())) {
            pthread_mutex_unlock(&o->lock);
            store_read_cancel(&f.read);
            pthread_mutex_lock(&o->lock);
        }
    }
    pthread_mutex_unlock(&o->lock);
    atomic_fetch_add(&o->cache->fetched_bytes, size);
    if (f.read.code != SHEAF_OK && err != NULL)
        *err = f.read.error;
    return f.read.code;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The bytes of a read that lie in one block of the object. The read may need only a part of the
 * block. */
struct block_part {
    uint64_t block;
    size_t skip, size;          /* within the block */
    uint8_t *data;              /* the caller's */
};

/* Reads a block of which the caller needs only some bytes, and puts the whole block into the cache.
 * The calling thread must have marked the block as BUSY. */
static int read_edge(struct cached_object *o, struct task *task, const struct block_part *p,
                     struct sheaf_error *err)
{
    const size_t size = block_size(o, p->block);
    uint8_t *whole = malloc(size);
    int code = SHEAF_OK;

    if (whole == NULL) {
        cache_settle(o, p->block, BLOCK_UNKNOWN);
        return err_memory(err, size);
    }
    if (cache_files_get(&o->cache->files, o->name, p->block, whole, size)) {
        atomic_fetch_add(&o->cache->hit_bytes, p->size);
    } else {
        code = cache_do_fetch(o, task, p->block * CACHE_BLOCK, whole, size, err);
        if (code == SHEAF_OK)
            cache_files_put(&o->cache->files, o->name, p->block, whole, size);
    }
    if (code == SHEAF_OK)
        memcpy(p->data, whole + p->skip, p->size);
    cache_settle(o, p->block, code == SHEAF_OK ? BLOCK_GOOD : BLOCK_UNKNOWN);
    free(whole);
    return code;
}

/* Reads the `count` blocks from number `first` on with one request, and puts them into the cache.
 * The blocks must not be in the cache, and the calling thread must have marked them as BUSY. */
static int read_run(struct cached_object *o, struct task *task, uint64_t first, uint64_t count,
                    uint8_t *data, struct sheaf_error *err)
{
    const uint64_t begin = first * CACHE_BLOCK;
    const uint64_t end = MIN((first + count) * CACHE_BLOCK, o->base.bytes);
    const int code = cache_do_fetch(o, task, begin, data, (size_t)(end - begin), err);

    for (uint64_t i = 0; i < count; i++) {
        if (code == SHEAF_OK)
            cache_files_put(&o->cache->files, o->name, first + i, data + i * CACHE_BLOCK,
                            block_size(o, first + i));
        cache_settle(o, first + i, code == SHEAF_OK ? BLOCK_GOOD : BLOCK_UNKNOWN);
    }
    return code;
}

/* Reads block number `first`, from the cache or from the original object. The calling thread must
 * have marked this block as BUSY, and must need all bytes of the block. If the next blocks are also
 * missing in the cache, the same request reads them as well. *done becomes the number of blocks
 * that were read. */
static int read_missing(struct cached_object *o, struct task *task, uint64_t first, uint64_t end,
                        uint8_t *data, uint64_t *done, struct sheaf_error *err)
{
    uint64_t count = 1;
    int code;

    *done = 1;
    if (cache_files_get(&o->cache->files, o->name, first, data, block_size(o, first))) {
        atomic_fetch_add(&o->cache->hit_bytes, block_size(o, first));
        cache_settle(o, first, BLOCK_GOOD);
        return SHEAF_OK;
    }
    while (first + count < end && try_claim(o, first + count)) {
        uint8_t *next = data + count * CACHE_BLOCK;
        const size_t size = block_size(o, first + count);

        if (cache_files_get(&o->cache->files, o->name, first + count, next, size)) {
            atomic_fetch_add(&o->cache->hit_bytes, size);
            cache_settle(o, first + count, BLOCK_GOOD);
            *done = count + 1;
            break;
        }
        count++;
    }
    code = read_run(o, task, first, count, data, err);
    *done = MAX(*done, count);
    return code;
}

/* Reads the bytes `p` of one block, from the cache or from the original object. If the block is
 * missing in the cache and `p` covers the whole block, the same request may also read the following
 * blocks up to whole_end. *done becomes the number of blocks that were read. */
static int cache_read_part(struct cached_object *o, struct task *task, const struct block_part *p,
                           uint64_t whole_end, uint64_t *done, struct sheaf_error *err)
{
    *done = 1;
    while (cache_claim(o, p->block) == BLOCK_GOOD) {
        if (cache_files_part(&o->cache->files, o->name, p->block, p->skip, p->data, p->size)) {
            atomic_fetch_add(&o->cache->hit_bytes, p->size);
            return SHEAF_OK;
        }
        cache_forget(o, p->block);    /* the block was removed to make room */
    }
    if (p->size < block_size(o, p->block))
        return read_edge(o, task, p, err);
    return read_missing(o, task, p->block, whole_end, p->data, done, err);
}

static int read_range(struct cached_object *o, struct task *task, uint64_t offset, void *data,
                      size_t size, struct sheaf_error *err)
{
    const uint64_t end = offset + size;
    const uint64_t whole_end = end == o->base.bytes ? o->block_count : end / CACHE_BLOCK;
    uint8_t *out = data;
    int code = SHEAF_OK;

    while (offset < end && code == SHEAF_OK) {
        struct block_part p = { .block = offset / CACHE_BLOCK,
                                .skip = (size_t)(offset % CACHE_BLOCK),
                          .data = out };
        uint64_t done, next;

        p.size = (size_t)MIN((uint64_t)(block_size(o, p.block) - p.skip), end - offset);
        if (task != NULL && atomic_load(&task->cancelled))
            return err_set(err, SHEAF_ERR_INTERRUPTED, "%s: interrupted", o->base.url);
        code = cache_read_part(o, task, &p, whole_end, &done, err);
        next = MIN((p.block + done) * CACHE_BLOCK, end);
        out += next - offset;
        offset = next;
    }
    return code;
}

static int cache_check_range(const struct store_object *object, uint64_t offset, size_t size,
                             struct sheaf_error *err)
{
    if (size <= object->bytes && offset <= object->bytes - size)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_TRUNCATED, "%s: has %llu byte%s, cannot read %zu at offset %llu",
                   object->url, (unsigned long long)object->bytes, plural(object->bytes), size,
                   (unsigned long long)offset);
}

static int cached_read(struct store_object *object, uint64_t offset, void *data, size_t size,
                       struct sheaf_error *err)
{
    const int code = cache_check_range(object, offset, size, err);

    return code == SHEAF_OK ? read_range(cache_object_of(object), NULL, offset, data, size, err)
        : code;
}

static void cache_run_task(struct job *job)
{
    struct task *task = (struct task *)job;
    struct store_read *read = task->read;
    struct cached_object *o = cache_object_of(read->object);

    read->code = read_range(o, task, read->offset, read->data, read->size, &read->error);
    pthread_mutex_lock(&o->lock);
    read->state = NULL;
    task->read = NULL;
    pthread_mutex_unlock(&o->lock);
    /* Call `done` last, because another thread may close the object from then on. cached_close
     * waits until this function has returned. */
    read->done(read);
}

/* Returns a task for a new read: a task whose read has ended, or else a new task. Returns NULL if
 * memory is exhausted. */
static struct task *take_task_locked(struct cached_object *o)
{
    struct task *task = o->tasks;

    while (task != NULL && !(task->read == NULL &&
                             workers_is_done(o->cache->workers, &task->job)))
        task = task->next;
    if (task == NULL) {
        task = calloc(1, sizeof(*task));
        if (task == NULL)
            return NULL;
        task->next = o->tasks;
        o->tasks = task;
    }
    task->job = (struct job){ .run = cache_run_task };
    return task;
}

static void cached_read_start(struct store_read *read)
{
    struct cached_object *o = cache_object_of(read->object);
    struct task *task = NULL;

    read->state = NULL;
    read->code = cache_check_range(&o->base, read->offset, read->size, &read->error);
    if (read->code == SHEAF_OK) {
        pthread_mutex_lock(&o->lock);
        task = take_task_locked(o);
        if (task != NULL) {
            task->read = read;
            atomic_init(&task->cancelled, false);
            read->state = task;
        }
        pthread_mutex_unlock(&o->lock);
        if (task == NULL)
            read->code = err_memory(&read->error, sizeof(*task));
    }
    if (task != NULL)
        workers_submit(o->cache->workers, &task->job);
    else
        read->done(read);
}

static void cached_read_cancel(struct store_read *read)
{
    struct cached_object *o = cache_object_of(read->object);

    pthread_mutex_lock(&o->lock);
    if (read->state != NULL)
        atomic_store(&((struct task *)read->state)->cancelled, true);
    pthread_mutex_unlock(&o->lock);
}

/* Removes blocks from the cache after the reader has found their bytes to be damaged. If another
 * process has already replaced a damaged block by a good one, the good block is removed as well. It
 * is then fetched again when it is needed. */
static void cached_distrust(struct store_object *object, uint64_t offset, uint64_t size)
{
    struct cached_object *o = cache_object_of(object);

    if (size == 0)
        return;
    for (uint64_t i = offset / CACHE_BLOCK; i <= (offset + size - 1) / CACHE_BLOCK; i++) {
        cache_files_drop(&o->cache->files, o->name, i);
        cache_forget(o, i);
    }
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void cached_close(struct store_object *object)
{
    struct cached_object *o = cache_object_of(object);
    struct task *task;

    while ((task = o->tasks) != NULL) {
        o->tasks = task->next;
        workers_wait(o->cache->workers, &task->job);
        free(task);
    }
    store_close(o->inner);
    pthread_mutex_destroy(&o->lock);
    pthread_cond_destroy(&o->settled);
    free(o->states);
    free(o->version);
    free(o);
}

static const struct store_ops cached_ops = {
    .scheme = "", .read = cached_read, .read_start = cached_read_start,
    .read_cancel = cached_read_cancel, .distrust = cached_distrust, .close = cached_close,
};

/* Replaces *object by a new object that reads *object through the cache. `version` is a text that
 * identifies the content. If `version` is NULL, the version of *object is used. */
static int wrap(struct cache *cache, const char *version, struct store_object **object,
                struct sheaf_error *err)
{
    struct cached_object *o = calloc(1, sizeof(*o));

    if (o == NULL)
        return err_memory(err, sizeof(*o));
    if (version != NULL && (o->version = strdup(version)) == NULL) {
        free(o);
        return err_memory(err, strlen(version));
    }
    o->inner = *object;
    o->cache = cache;
    o->block_count = (o->inner->bytes - 1) / CACHE_BLOCK + 1;
    o->base = (struct store_object){
        .ops = &cached_ops, .url = o->inner->url, .bytes = o->inner->bytes,
        .version = o->version != NULL ? o->version : o->inner->version, .is_remote = true,
        .block_bytes = o->inner->block_bytes,
    };
    cache_files_name(o->inner, o->base.version, o->name);
    o->states = calloc(o->block_count, 1);
    if (o->states == NULL || o->name[0] == '\0') {
        free(o->states);
        free(o->version);
        free(o);
        return err_memory(err, (size_t)(*object)->bytes / CACHE_BLOCK);
    }
    pthread_mutex_init(&o->lock, NULL);
    timed_cond_init(&o->settled);
    *object = &o->base;
    return SHEAF_OK;
}

int cache_wrap(struct cache *cache, struct store_object **object, struct sheaf_error *err)
{
    if ((*object)->is_remote && (*object)->version == NULL)
        atomic_fetch_add(&cache->uncached, 1);
    if (!(*object)->is_remote || (*object)->version == NULL || (*object)->bytes == 0)
        return SHEAF_OK;
    return wrap(cache, NULL, object, err);
}

int cache_open_known(struct cache *cache, const char *url, const char *version, uint64_t bytes,
                     struct store_object **object, struct sheaf_error *err)
{
    int code = store_open_known(url, bytes, 0, object, err);

    if (code != SHEAF_OK || bytes == 0 || !(*object)->is_remote)
        return code;
    code = wrap(cache, version, object, err);
    if (code != SHEAF_OK) {
        store_close(*object);
        *object = NULL;
    }
    return code;
}

int cache_open(struct cache **out, const char *directory, uint64_t limit_bytes,
               struct sheaf_error *err)
{
    struct cache *cache = calloc(1, sizeof(*cache));
    int code;

    if (cache == NULL)
        return err_memory(err, sizeof(*cache));
    code = cache_files_open(&cache->files, directory, limit_bytes, err);
    if (code == SHEAF_OK)
        code = workers_open(&cache->workers, THREADS, err);
    if (code == SHEAF_OK) {
        *out = cache;
        return code;
    }
    cache_files_close(&cache->files);
    free(cache);
    return code;
}

void cache_go_offline(struct cache *cache)
{
    cache->is_offline = true;
}

int cache_directory(const struct cache *cache)
{
    return cache->files.directory;
}

void cache_close(struct cache *cache)
{
    if (cache == NULL)
        return;
    workers_close(cache->workers);
    cache_files_close(&cache->files);
    free(cache);
}

void cache_counts(struct cache *cache, uint64_t *hit_bytes, uint64_t *fetched_bytes,
                  uint64_t *uncached)
{
    *uncached = atomic_load(&cache->uncached);
    *hit_bytes = atomic_load(&cache->hit_bytes);
    *fetched_bytes = atomic_load(&cache->fetched_bytes);
}
