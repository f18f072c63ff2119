/* SPDX-License-Identifier: MIT
 *
 * The chunks of a feed and their memory: taken from the budget before a chunk is read, and kept for
 * the next one where there is room. */
#include "reader/feed.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/flag.h"

/* What a chunk is given may be twice what it needs, and so much more. */
#define KEPT_MORE_BYTES   ((uint64_t)64 << 10)

/* False: it gave up. */
static bool wait_for_shard(struct feed *feed, struct shard *shard)
{
    const uint64_t poll_ns = 20000000;
    uint64_t start;
    bool done = workers_is_done(feed->workers, &shard->job);

    if (done)
        return true;
    start = clock_ns();
    while (!done && !flag_is_raised(feed->interrupt)
           && (feed->wait_until_ns == 0 || clock_ns() < feed->wait_until_ns))
        done = workers_wait_for(feed->workers, &shard->job, poll_ns);
    feed->stall_ns += clock_ns() - start;
    return done;
}

int feed_open_shard(struct feed *feed, struct shard *shard, struct sheaf_error *err)
{
    if (!wait_for_shard(feed, shard))
        return err_set(err, SHEAF_ERR_INTERRUPTED, "interrupted");
    if (shard->code != SHEAF_OK)
        *err = shard->error;
    return shard->code;
}

/* ---- Chunks --------------------------------------------------------------------------------- */

void feed_trim_spares(struct feed *feed)
{
    while (feed->spare != NULL && feed->spare_bytes > feed->budget.limit - feed->budget.used) {
        struct chunk *chunk = feed->spare;

        feed->spare = chunk->next;
        feed->spare_bytes -= chunk_kept_bytes(chunk);
        chunk_free(chunk, feed->frames);
    }
}

/* The spare one that keeps most of what is not too much: were a large chunk made of a small one,
 * the next small one would find large ones only, and the spares would grow without end. */
struct chunk *feed_new_chunk(struct feed *feed, uint64_t memory)
{
    const size_t most = 2 * memory + KEPT_MORE_BYTES;
    struct chunk **best = NULL, *chunk;

    for (struct chunk **at = &feed->spare; *at != NULL; at = &(*at)->next)
        if (chunk_kept_bytes(*at) <= most
            && (best == NULL || chunk_kept_bytes(*at) > chunk_kept_bytes(*best)))
            best = at;
    if (best == NULL)
        return calloc(1, sizeof(*chunk));
    chunk = *best;
    *best = chunk->next;
    feed->spare_bytes -= chunk_kept_bytes(chunk);
    chunk->next = NULL;
    return chunk;
}

/* A chunk that the memory was taken for.  What a spare one has beyond that is taken, too. */
static struct chunk *new_chunk_for(struct feed *feed, const struct feed_memory *memory)
{
    struct chunk *chunk = feed_new_chunk(feed, memory->bytes);
    const uint64_t kept = chunk == NULL ? 0 : chunk_kept_bytes(chunk);
    const uint64_t more = kept - MIN(kept, memory->bytes);

    if (!budget_take(&feed->budget, more)) {
        chunk_free(chunk, feed->frames);
        chunk = calloc(1, sizeof(*chunk));
    } else if (chunk != NULL) {
        chunk->memory_bytes = more;
    }
    if (chunk == NULL) {
        budget_give(&feed->budget, memory->bytes - memory->reserved);
        budget_give_reserved(&feed->budget, memory->reserved);
        return NULL;
    }
    chunk->memory_bytes += memory->bytes - memory->reserved;
    chunk->reserved_bytes = memory->reserved;
    return chunk;
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

bool feed_take_memory(struct feed *feed, const struct feed_memory *memory)
{
    struct budget *b = &feed->budget;

    if (!budget_take(b, memory->bytes - memory->reserved))
        return false;
    if (budget_take_reserved(b, memory->reserved))
        return true;
    budget_give(b, memory->bytes - memory->reserved);
    return false;
}

bool feed_take_passing(struct feed *feed, const struct run *runs, size_t run_count,
                       struct feed_memory *memory)
{
    const bool can = chunk_can_be_in_pieces(runs, run_count);

    *memory = (struct feed_memory){ .frames = FEED_PASSING };
    if (runs[0].shard->object->is_remote || !can) {
        memory->bytes = chunk_memory(runs, run_count, true, false);
        if (feed_take_memory(feed, memory))
            return true;
    }
    memory->in_pieces = can;
    memory->bytes = chunk_memory(runs, run_count, true, can);
    return can && feed_take_memory(feed, memory);
}

int feed_make_chunk(struct feed *feed, const struct run *runs, size_t run_count,
                    const struct feed_memory *memory, struct chunk **result,
                    struct sheaf_error *err)
{
    struct chunk *chunk = new_chunk_for(feed, memory);
    int code;

    if (chunk == NULL)
        return err_memory(err, sizeof(*chunk));
    chunk->job.run = chunk_run;
    chunk->dataset = feed->dataset;
    chunk->own_frames = feed->own_frames && memory->frames == FEED_USUAL;
    chunk->is_alone = memory->frames == FEED_ALONE;
    chunk->is_passing = memory->frames == FEED_PASSING;
    chunk->in_pieces = memory->in_pieces;
    chunk->workers = feed->workers;
    code = chunk_prepare(chunk, runs, run_count, feed->frames, err);
    feed_trim_spares(feed);
    if (code != SHEAF_OK) {
        feed_recycle(feed, chunk);
        return code;
    }
    *result = chunk;
    return SHEAF_OK;
}

/* Makes its tables, which are kept no longer than the chunk. */
static int prepare_shared(struct feed *feed, struct chunk *chunk, struct shard *shard,
                          struct item *const *items, size_t count, struct sheaf_error *err)
{
    struct run *runs = malloc(count * sizeof(runs[0]));
    uint8_t **pieces = malloc(count * sizeof(pieces[0]));
    int code;

    if (runs == NULL || pieces == NULL) {
        code = err_memory(err, count * (sizeof(runs[0]) + sizeof(pieces[0])));
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        runs[i] = (struct run){ shard, items[i]->record, 1, false };
        pieces[i] = items[i]->piece;
    }
    code = SHEAF_END;
    if (chunk_take_memory(chunk, &feed->budget, chunk_shared_memory(runs, count), false))
        code = chunk_prepare_shared(chunk, runs, count, pieces, err);
out:
    free(runs);
    free(pieces);
    return code;
}

int feed_make_shared(struct feed *feed, struct shard *shard, struct item *const *items,
                     size_t count, struct chunk **result, struct sheaf_error *err)
{
    struct chunk *chunk = calloc(1, sizeof(*chunk));
    int code;

    if (chunk == NULL)
        return err_memory(err, sizeof(*chunk));
    chunk->job.run = chunk_run;
    chunk->dataset = feed->dataset;
    chunk->own_frames = chunk->shares_block = true;
    chunk->workers = feed->workers;
    code = prepare_shared(feed, chunk, shard, items, count, err);
    if (code != SHEAF_OK) {
        chunk_give_memory(chunk, &feed->budget);
        chunk->count = chunk->run_count = 0;
        chunk_free(chunk, feed->frames);
        return code;
    }
    shard->users += (unsigned)count;
    *result = chunk;
    return SHEAF_OK;
}

int feed_make_deferred(struct feed *feed, const struct order_run *run, size_t bytes,
                       bool reserved, struct chunk **result, struct sheaf_error *err)
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
    if (code == SHEAF_OK)
        chunk->items[0].size = bytes;
    if (code != SHEAF_OK) {
        feed_recycle(feed, chunk);
        return code;
    }
    *result = chunk;
    return SHEAF_OK;
}

void feed_submit(struct feed *feed, struct chunk *chunk)
{
    if (chunk->runs[0].shard->object->is_remote && !chunk->in_pieces)
        chunk_fetch(chunk);
    else
        workers_submit(feed->workers, &chunk->job);
}

void feed_retire(struct feed *feed, struct chunk *chunk)
{
    if (!chunk->is_done)                /* else it was counted then */
        feed->read_bytes += chunk->read_bytes;
    chunk_drop_shards(chunk, &feed->shards);
    if (chunk->own_frames || chunk->is_passing) {
        feed_recycle(feed, chunk);
        return;
    }
    chunk->next = feed->retired;
    feed->retired = chunk;
}

void feed_release(struct feed *feed)
{
    while (feed->retired != NULL) {
        struct chunk *chunk = feed->retired;

        feed->retired = chunk->next;
        feed_recycle(feed, chunk);
    }
}

void feed_free(struct feed *feed)
{
    while (feed->spare != NULL) {
        struct chunk *chunk = feed->spare;

        feed->spare = chunk->next;
        chunk_free(chunk, feed->frames);
    }
    heap_close(feed->frames);
}

int feed_is_full(const struct feed *feed, const struct shard *shard, uint64_t record,
                 struct sheaf_error *err)
{
    const struct run run = { (struct shard *)(uintptr_t)shard, record, 1, false };

    return err_set(err, SHEAF_ERR_LIMIT, "%s: record %" PRIu64 " takes %" PRIu64 " bytes of "
                   "memory, but of the budget of %" PRIu64 " bytes %" PRIu64 " are in use",
                   feed->dataset->urls[shard->number], record,
                   chunk_memory(&run, 1, true, chunk_can_be_in_pieces(&run, 1)),
                   feed->budget.limit, feed->budget.used);
}
