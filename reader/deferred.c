/* SPDX-License-Identifier: MIT
 *
 * Reading deferred records, alone and with others of their block; see deferred.h. */
#include "reader/deferred.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"

struct recall {
    struct recall *next;
    struct shard *shard;        /* used by it until there is a chunk; NULL: not yet */
    struct chunk *chunk;
    /* Of one record: */
    uint32_t shard_number;
    uint64_t record;
    /* A shared one, which always has a chunk: */
    size_t left;                /* of its items, those that are not taken */
    uint32_t when;              /* the step that draws the first of them */
    bool is_begun, is_done;
};

/* Takes the memory for reading a record alone.  Remotely, one request for its whole block is better
 * than many for pieces of it. */
static bool take_memory(struct feed *feed, const struct run *run, bool reserved,
                        struct feed_memory *memory)
{
    const bool can = chunk_can_be_in_pieces(run, 1);
    uint64_t bytes;

    if (can && run->shard->object->is_remote) {
        *memory = (struct feed_memory){ .bytes = chunk_memory(run, 1, true, false),
                                        .frames = FEED_ALONE };
        if (feed_take_memory(feed, memory))
            return true;
    }
    bytes = chunk_memory(run, 1, true, can);
    *memory = (struct feed_memory){ bytes, reserved ? bytes : 0, can, FEED_ALONE };
    return feed_take_memory(feed, memory);
}

int alone_begin(struct feed *feed, struct shard *shard, uint64_t record, bool reserved,
                struct chunk **result, struct sheaf_error *err)
{
    const struct run run = { shard, record, 1, false };
    struct feed_memory memory;
    int code;

    if (!take_memory(feed, &run, reserved, &memory))
        return SHEAF_END;
    code = feed_make_chunk(feed, &run, 1, &memory, result, err);
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

static void take_away(struct recall **at, struct recall *recall)
{
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

static int wait_for(struct feed *feed, struct chunk *chunk, struct sheaf_error *err)
{
    if (!workers_wait_or(feed->workers, &chunk->job, dataset_is_local(feed->dataset),
                         feed->interrupt, &feed->stall_ns))
        return err_set(err, SHEAF_ERR_INTERRUPTED, "interrupted");
    return SHEAF_OK;
}

static int take_alone(struct feed *feed, struct recalls *recalls, const struct item *deferred,
                      struct item *item, struct sheaf_error *err)
{
    struct recall *r = find(recalls, deferred);
    struct chunk *chunk;
    int code;

    if (r == NULL)
        r = add(recalls, deferred);
    if (r == NULL)
        return err_memory(err, sizeof(*r));
    code = begin_reserved(feed, r, err);
    if (code == SHEAF_OK)
        code = wait_for(feed, r->chunk, err);
    if (code != SHEAF_OK)
        return code;
    chunk = r->chunk;
    take_away(&recalls->first, r);
    code = chunk->code;
    if (code != SHEAF_OK)
        *err = chunk->error;
    else
        *item = chunk->items[0];
    chunk->taken = code == SHEAF_OK;
    feed_retire(feed, chunk);
    return code;
}

/* ---- Shared recalls ------------------------------------------------------------------------- */

bool recall_can_be_shared(const struct shard *shard, uint64_t record)
{
    const struct run run = { (struct shard *)(uintptr_t)shard, record, 1, false };

    return chunk_can_be_in_pieces(&run, 1)
           && (shard->names == NULL || !shard->object->is_remote);  /* a request for each line */
}

static void add_shared(struct recalls *recalls, struct recall *recall)
{
    struct recall **at = &recalls->shared;

    while (*at != NULL && (*at)->when <= recall->when)
        at = &(*at)->next;
    recall->next = *at;
    *at = recall;
}

int recalls_share(struct feed *feed, struct recalls *recalls, struct shard *shard,
                  struct item *const *items, size_t count, uint32_t when,
                  struct sheaf_error *err)
{
    struct recall *r = calloc(1, sizeof(*r));
    int code;

    if (r == NULL)
        return err_memory(err, sizeof(*r));
    code = feed_make_shared(feed, shard, items, count, &r->chunk, err);
    if (code != SHEAF_OK) {
        free(r);
        return code;
    }
    r->left = count;
    r->when = when;
    for (size_t i = 0; i < count; i++) {
        items[i]->piece = NULL;
        items[i]->recall = r;
    }
    add_shared(recalls, r);
    return SHEAF_OK;
}

/* Takes what it needs while it runs, and begins it.  False: the budget has no room for that. */
static bool begin_shared(struct feed *feed, struct recall *r, bool reserved)
{
    struct chunk *chunk = r->chunk;
    const struct run *run = &chunk->runs[0];
    uint64_t *memory = reserved ? &chunk->reserved_bytes : &chunk->memory_bytes;
    uint64_t bytes = chunk_shared_passing(run, false);

    chunk->in_pieces = !run->shard->object->is_remote || !budget_take(&feed->budget, bytes);
    if (!chunk->in_pieces) {
        memory = &chunk->memory_bytes;
    } else {
        bytes = chunk_shared_passing(run, true);
        if (!(reserved ? budget_take_reserved : budget_take)(&feed->budget, bytes))
            return false;
    }
    *memory += bytes;
    feed_submit(feed, chunk);
    r->is_begun = true;
    feed->recalls_running++;
    return true;
}

/* Its job is done: what it needed for that goes back. */
static void end_shared(struct feed *feed, struct recall *r)
{
    chunk_shrink(r->chunk, &feed->budget);
    chunk_drop_shards(r->chunk, &feed->shards);
    r->is_done = true;
    feed->recalls_running--;
}

void recalls_begin_shared(struct feed *feed, struct recalls *recalls)
{
    for (struct recall *r = recalls->shared; r != NULL; r = r->next) {
        if (r->is_begun && !r->is_done && workers_is_done(feed->workers, &r->chunk->job))
            end_shared(feed, r);
        if (!r->is_begun && (feed->recalls_running >= feed->recalls_most
                             || !begin_shared(feed, r, false)))
            return;
    }
}

/* The item of the chunk that stands for this record. */
static struct item *item_of(struct chunk *chunk, uint64_t record)
{
    size_t low = 0, high = chunk->count - 1;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (chunk->items[middle].record < record)
            low = middle + 1;
        else
            high = middle;
    }
    return &chunk->items[low];
}

static int take_shared(struct feed *feed, struct recalls *recalls, struct item *deferred,
                       struct item *item, struct sheaf_error *err)
{
    struct recall *r = deferred->recall;
    struct chunk *chunk = r->chunk;
    int code = SHEAF_OK;

    if (!r->is_begun && !begin_shared(feed, r, true))
        return feed_is_full(feed, chunk->runs[0].shard, deferred->record, err);
    code = wait_for(feed, chunk, err);
    if (code != SHEAF_OK)
        return code;
    if (!r->is_done)
        end_shared(feed, r);
    deferred->recall = NULL;        /* if it failed, the record is read alone the next time */
    code = chunk->code;
    if (code == SHEAF_OK) {
        struct item *own = item_of(chunk, deferred->record);

        *item = *own;
        *own = (struct item){ .record = item->record };
    } else {
        *err = chunk->error;
    }
    if (--r->left == 0) {
        take_away(&recalls->shared, r);
        feed_retire(feed, chunk);
    }
    return code;
}

/* ---- All ------------------------------------------------------------------------------------ */

int recalls_take(struct feed *feed, struct recalls *recalls, struct item *deferred,
                 struct item *item, struct sheaf_error *err)
{
    return deferred->recall != NULL ? take_shared(feed, recalls, deferred, item, err)
                                    : take_alone(feed, recalls, deferred, item, err);
}

static void cancel(const struct recall *r)
{
    for (; r != NULL; r = r->next)
        if (r->chunk != NULL)
            chunk_cancel(r->chunk);
}

void recalls_cancel(struct recalls *recalls)
{
    cancel(recalls->first);
    cancel(recalls->shared);
}

static void clear(struct feed *feed, struct recall *r)
{
    for (struct recall *next; r != NULL; r = next) {
        next = r->next;
        shards_drop(&feed->shards, r->shard);
        if (r->chunk != NULL) {
            feed->recalls_running -= r->is_begun && !r->is_done;
            if (!r->chunk->shares_block || r->is_begun)
                workers_wait(feed->workers, &r->chunk->job);
            chunk_give_memory(r->chunk, &feed->budget);
            chunk_drop_shards(r->chunk, &feed->shards);
            chunk_free(r->chunk, feed->frames);
        }
        free(r);
    }
}

void recalls_clear(struct feed *feed, struct recalls *recalls)
{
    clear(feed, recalls->first);
    clear(feed, recalls->shared);
    *recalls = (struct recalls){ .first = NULL };
}
