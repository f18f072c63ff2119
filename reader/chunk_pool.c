/* SPDX-License-Identifier: MIT
 *
 * The chunks of a feed and their memory: taken from the budget before a chunk is read, and kept for
 * the next one where there is room. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/lane.h"

/* What a chunk is given may be twice what it needs, and so much more. */
#define KEPT_MORE_BYTES   ((uint64_t)1 << 20)

void feed_append(struct feed *feed, struct lane *lane, struct chunk *chunk)
{
    if (lane->first == NULL)
        lane->first = chunk;
    else
        lane->last->next = chunk;
    lane->last = chunk;
    feed->outstanding++;
}

void feed_trim_spares(struct feed *feed)
{
    while (feed->spare != NULL && feed->spare_bytes > feed->budget.limit - feed->budget.used) {
        struct chunk *chunk = feed->spare;

        feed->spare = chunk->next;
        feed->spare_bytes -= chunk_kept_bytes(chunk);
        chunk_free(chunk, feed->frames);
    }
}

struct chunk *feed_new_chunk(struct feed *feed, uint64_t memory)
{
    struct chunk *chunk = feed->spare;

    if (chunk == NULL)
        return calloc(1, sizeof(*chunk));
    feed->spare = chunk->next;
    feed->spare_bytes -= chunk_kept_bytes(chunk);
    chunk->next = NULL;
    if (chunk_kept_bytes(chunk) <= 2 * memory + KEPT_MORE_BYTES)
        return chunk;
    chunk_free(chunk, feed->frames);
    return calloc(1, sizeof(*chunk));
}

void feed_recycle(struct feed *feed, struct chunk *chunk)
{
    chunk_give_memory(chunk, &feed->budget);
    chunk_reset(chunk, feed->frames);
    if (chunk_kept_bytes(chunk) > feed->spare_most_bytes) {
        chunk_free(chunk, feed->frames);   /* it held an outsize sample */
        return;
    }
    chunk->next = feed->spare;
    feed->spare = chunk;
    feed->spare_bytes += chunk_kept_bytes(chunk);
    feed_trim_spares(feed);
}

/* What the chunks that are done keep of their reads goes to others, which need it now. */
static void shrink_chunks(struct feed *feed)
{
    for (uint32_t i = 0; i < feed->lane_count; i++)
        for (struct chunk *c = feed->lanes[i].first; c != NULL; c = c->next)
            if (!c->is_shrunk && (c->is_done || workers_is_done(feed->workers, &c->job)))
                chunk_shrink(c, &feed->budget);
}

static bool take_budget(struct budget *b, uint64_t memory, uint64_t reserved)
{
    if (!budget_take(b, memory - reserved))
        return false;
    if (budget_take_reserved(b, reserved))
        return true;
    budget_give(b, memory - reserved);
    return false;
}

/* Takes a chunk's memory from the budget, `reserved` bytes of it from what is reserved; false: it
 * has no room, or the heap has none. */
static bool take_memory(struct feed *feed, const struct run *runs, size_t run_count,
                        uint64_t memory, uint64_t reserved)
{
    if (feed->own_frames && heap_room(feed->frames) < chunk_frames_bytes(runs, run_count))
        return false;
    if (take_budget(&feed->budget, memory, reserved))
        return true;
    shrink_chunks(feed);
    return take_budget(&feed->budget, memory, reserved);
}

/* A chunk of these runs with all the memory that it needs.  `reserved`: what it needs until it is
 * done is of what is reserved.  SHEAF_END: there is no room. */
static int take_chunk(struct feed *feed, const struct run *runs, size_t run_count, bool reserved,
                      struct chunk **result, struct sheaf_error *err)
{
    const uint64_t memory = chunk_memory(runs, run_count, feed->own_frames);
    const uint64_t of_reserve = reserved ? chunk_passing_bytes(runs, run_count) : 0;
    struct chunk *chunk;
    int code;

    if (!take_memory(feed, runs, run_count, memory, of_reserve))
        return SHEAF_END;
    chunk = feed_new_chunk(feed, memory);
    if (chunk == NULL) {
        budget_give(&feed->budget, memory - of_reserve);
        budget_give_reserved(&feed->budget, of_reserve);
        return err_memory(err, sizeof(*chunk));
    }
    chunk->job.run = chunk_run;
    chunk->dataset = feed->dataset;
    chunk->own_frames = feed->own_frames;
    chunk->workers = feed->workers;
    chunk->memory_bytes = memory - of_reserve;
    chunk->reserved_bytes = of_reserve;
    code = chunk_prepare(chunk, runs, run_count, feed->frames, err);
    feed_trim_spares(feed);
    if (code != SHEAF_OK) {
        feed_recycle(feed, chunk);
        return code;
    }
    *result = chunk;
    return SHEAF_OK;
}

int feed_begin_chunk(struct feed *feed, struct lane *lane, const struct run *runs,
                     size_t run_count, bool reserved, struct sheaf_error *err)
{
    struct chunk *chunk = NULL;
    const int code = take_chunk(feed, runs, run_count, reserved, &chunk, err);

    if (code != SHEAF_OK)
        return code;
    feed_append(feed, lane, chunk);
    lane->planned += chunk->count;
    if (runs[0].shard->object->is_remote)
        chunk_fetch(chunk);
    else
        workers_submit(feed->workers, &chunk->job);
    return SHEAF_OK;
}

int feed_defer_chunk(struct feed *feed, struct lane *lane, const struct order_run *run,
                       bool reserved, struct sheaf_error *err)
{
    struct chunk *chunk = feed_new_chunk(feed, CHUNK_DEFERRED_BYTES);
    int code;

    if (chunk == NULL)
        return err_memory(err, sizeof(*chunk));
    if (!chunk_take_memory(chunk, &feed->budget, CHUNK_DEFERRED_BYTES, reserved)) {
        feed_recycle(feed, chunk);
        return SHEAF_END;
    }
    code = chunk_prepare_deferred(chunk, run->shard, run->record, err);
    if (code != SHEAF_OK) {
        feed_recycle(feed, chunk);
        return code;
    }
    feed_append(feed, lane, chunk);
    lane->planned++;
    return SHEAF_OK;
}

int feed_is_full(const struct feed *feed, const struct shard *shard, uint64_t record,
                 struct sheaf_error *err)
{
    const struct run run = { (struct shard *)(uintptr_t)shard, record, 1 };

    return err_set(err, SHEAF_ERR_LIMIT, "%s: record %" PRIu64 " takes %" PRIu64 " bytes of "
                   "memory, but of the budget of %" PRIu64 " bytes %" PRIu64 " are in use",
                   feed->dataset->urls[shard->number], record, chunk_memory(&run, 1, true),
                   feed->budget.limit, feed->budget.used);
}
