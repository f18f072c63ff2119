/* SPDX-License-Identifier: MIT
 *
 * Reading records alone; see deferred.h. */
#include "reader/deferred.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"

struct recall {
    struct recall *next;
    uint32_t shard_number;
    uint64_t record;
    struct shard *shard;        /* used by it until there is a chunk; NULL: not yet */
    struct chunk *chunk;
};

/* Takes the memory for reading a record alone.  Remotely, one request for its whole block is better
 * than many for pieces of it. */
static bool take_memory(struct feed *feed, const struct run *run, bool reserved,
                        struct feed_memory *memory)
{
    const bool can = chunk_can_be_in_pieces(run);
    uint64_t bytes;

    if (can && run->shard->object->is_remote) {
        *memory = (struct feed_memory){ .bytes = chunk_memory(run, 1, true, false) };
        if (feed_take_memory(feed, memory))
            return true;
    }
    bytes = chunk_memory(run, 1, true, can);
    *memory = (struct feed_memory){ bytes, reserved ? bytes : 0, can };
    return feed_take_memory(feed, memory);
}

int alone_begin(struct feed *feed, struct shard *shard, uint64_t record, bool reserved,
                struct chunk **result, struct sheaf_error *err)
{
    const struct run run = { shard, record, 1 };
    struct feed_memory memory;
    int code;

    if (!take_memory(feed, &run, reserved, &memory))
        return SHEAF_END;
    code = feed_make_chunk(feed, &run, 1, &memory, true, result, err);
    if (code == SHEAF_OK)
        feed_submit(feed, *result);
    return code;
}

/* ---- Recalls -------------------------------------------------------------------------------- */

static struct recall *find(const struct recalls *recalls, const struct item *item)
{
    struct recall *r = recalls->first;

    while (r != NULL && (r->shard_number != item->shard || r->record != item->record))
        r = r->next;
    return r;
}

static struct recall *add(struct recalls *recalls, const struct item *item)
{
    struct recall *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return NULL;
    r->shard_number = item->shard;
    r->record = item->record;
    r->next = recalls->first;
    recalls->first = r;
    return r;
}

static void take_away(struct recalls *recalls, struct recall *recall)
{
    struct recall **at = &recalls->first;

    while (*at != recall)
        at = &(*at)->next;
    *at = recall->next;
    free(recall);
}

/* One step further with what is read ahead.  What fails here is found again when it is needed. */
static void advance(struct feed *feed, struct recall *r)
{
    struct sheaf_error ignored;

    if (r->chunk != NULL)
        return;
    if (r->shard == NULL
        && shards_use(&feed->shards, r->shard_number, &r->shard, &ignored) != SHEAF_OK) {
        r->shard = NULL;
        return;
    }
    if (!workers_is_done(feed->workers, &r->shard->job) || r->shard->code != SHEAF_OK)
        return;
    if (alone_begin(feed, r->shard, r->record, false, &r->chunk, &ignored) == SHEAF_OK)
        r->shard = NULL;
}

void recalls_ahead(struct feed *feed, struct recalls *recalls, const struct item *item)
{
    struct recall *r = find(recalls, item);

    if (r == NULL)
        r = add(recalls, item);
    if (r != NULL)
        advance(feed, r);
}

/* Begins the read with what is reserved, unless it was begun. */
static int begin_reserved(struct feed *feed, struct recall *r, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (r->chunk != NULL)
        return SHEAF_OK;
    if (r->shard == NULL) {
        code = shards_use_reserved(&feed->shards, r->shard_number, &r->shard, err);
        if (code != SHEAF_OK)
            r->shard = NULL;
    }
    if (code == SHEAF_OK)
        code = feed_open_shard(feed, r->shard, err);
    if (code == SHEAF_OK)
        code = alone_begin(feed, r->shard, r->record, true, &r->chunk, err);
    if (code == SHEAF_OK)
        r->shard = NULL;
    return code == SHEAF_END ? feed_is_full(feed, r->shard, r->record, err) : code;
}

int recalls_take(struct feed *feed, struct recalls *recalls, struct item *item,
                 struct sheaf_error *err)
{
    struct recall *r = find(recalls, item);
    struct chunk *chunk;
    int code;

    if (r == NULL)
        r = add(recalls, item);
    if (r == NULL)
        return err_memory(err, sizeof(*r));
    code = begin_reserved(feed, r, err);
    if (code != SHEAF_OK)
        return code;
    chunk = r->chunk;
    if (!workers_wait_or(feed->workers, &chunk->job, dataset_is_local(feed->dataset),
                         feed->interrupt, &feed->stall_ns))
        return err_set(err, SHEAF_ERR_INTERRUPTED, "interrupted");
    take_away(recalls, r);
    code = chunk->code;
    if (code != SHEAF_OK)
        *err = chunk->error;
    else
        *item = chunk->items[0];
    chunk->taken = code == SHEAF_OK;
    feed_retire(feed, chunk);
    return code;
}

void recalls_cancel(struct recalls *recalls)
{
    for (struct recall *r = recalls->first; r != NULL; r = r->next)
        if (r->chunk != NULL)
            chunk_cancel(r->chunk);
}

void recalls_clear(struct feed *feed, struct recalls *recalls)
{
    for (struct recall *r = recalls->first, *next; r != NULL; r = next) {
        next = r->next;
        shards_drop(&feed->shards, r->shard);
        if (r->chunk != NULL) {
            workers_wait(feed->workers, &r->chunk->job);
            chunk_give_memory(r->chunk, &feed->budget);
            chunk_drop_shards(r->chunk, &feed->shards);
            chunk_free(r->chunk, feed->frames);
        }
        free(r);
    }
    recalls->first = NULL;
}
