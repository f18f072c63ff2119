/* SPDX-License-Identifier: MIT
 *
 * The prefetch: planning chunks for the lanes, and taking items from them; see lane.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/flag.h"
#include "reader/lane.h"
#include "reader/stream.h"

#define CHUNK_FIRST_BYTES ((uint64_t)64 << 10)     /* of a lane's first chunk */
#define DRAWS_COLD        32u   /* the first samples of a lane, which wait for no others */

/* ---- Planning ------------------------------------------------------------------------------- */

/* Makes lane->shard the shard of the run, and begins to open the one that follows it. */
static int enter_shard(struct feed *feed, struct lane *lane, const struct order_run *run,
                       uint64_t intake, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (lane->shard == NULL || lane->shard->number != run->shard) {
        shards_drop(&feed->shards, lane->shard);
        lane->shard = NULL;
        if (lane->ahead != NULL && lane->ahead->number == run->shard) {
            lane->shard = lane->ahead;
            lane->ahead = NULL;
        } else {
            code = shards_use(&feed->shards, run->shard, &lane->shard, err);
        }
    }
    if (code == SHEAF_OK && lane->ahead == NULL && intake >= lane->early + lane->fill
        && run->count < lane_intakes(lane) - intake) {
        const struct order_run next = order_line_locate(&feed->line, lane_intake_place(lane, intake)
                                                                     + run->count);
        struct sheaf_error ignored;

        /* Only an advance: if the budget has no room now, it is opened when its turn comes. */
        if (shards_use(&feed->shards, next.shard, &lane->ahead, &ignored) != SHEAF_OK)
            lane->ahead = NULL;
    }
    return code;
}

/* Raw bytes of the lane's next chunk.  The first ones are small: the first sample should not wait
 * for many. */
static uint64_t chunk_bytes(const struct feed *feed, const struct lane *lane)
{
    return MIN(feed->chunk_bytes, CHUNK_FIRST_BYTES * (1 + lane->planned));
}

/* How many records from the lane's next intake on make the next chunk: consecutive places in one
 * shard, of chunk_bytes together or to the end of the codec block that passes them. */
static size_t chunk_count(const struct feed *feed, const struct lane *lane,
                          const struct order_run *run, uint64_t place)
{
    const struct index_section *s = lane->shard->section;
    const uint64_t left = MIN(lane_intakes(lane) - lane->planned, run->count);
    uint64_t stop = s->offsets[run->record] + chunk_bytes(feed, lane);
    size_t count = 1;

    if (s->blocks != NULL) {
        const uint64_t block = index_block_of(s, MIN(stop, s->offsets[s->samples]) - 1);

        stop = s->blocks[block].raw_offset;
        if (stop <= s->offsets[run->record])
            stop = s->blocks[block + 1].raw_offset;
    }
    while (count < left && s->offsets[run->record + count + 1] <= stop
           && lane_intake_place(lane, lane->planned + count) == place + count)
        count++;
    return count;
}

static void append_chunk(struct feed *feed, struct lane *lane, struct chunk *chunk)
{
    if (lane->first == NULL)
        lane->first = chunk;
    else
        lane->last->next = chunk;
    lane->last = chunk;
    feed->outstanding++;
}

/* Spare memory makes way for what is in use. */
static void trim_spares(struct feed *feed)
{
    while (feed->spare != NULL && feed->spare_bytes > feed->budget.limit - feed->budget.used) {
        struct chunk *chunk = feed->spare;

        feed->spare = chunk->next;
        feed->spare_bytes -= chunk_kept_bytes(chunk);
        chunk_free(chunk, feed->frames);
    }
}

static struct chunk *new_chunk(struct feed *feed)
{
    struct chunk *chunk = feed->spare;

    if (chunk == NULL)
        return calloc(1, sizeof(*chunk));
    feed->spare = chunk->next;
    feed->spare_bytes -= chunk_kept_bytes(chunk);
    chunk->next = NULL;
    return chunk;
}

/* Gives the chunk's memory back, or keeps it for the next one. */
static void recycle(struct feed *feed, struct chunk *chunk)
{
    budget_give(&feed->budget, chunk->memory_bytes);
    chunk_reset(chunk, feed->frames);
    if (chunk_kept_bytes(chunk) > feed->spare_most_bytes) {
        chunk_free(chunk, feed->frames);   /* it held an outsize sample */
        return;
    }
    chunk->next = feed->spare;
    feed->spare = chunk;
    feed->spare_bytes += chunk_kept_bytes(chunk);
    trim_spares(feed);
}

/* A chunk of these runs with all the memory that it needs.  SHEAF_END: there is no room. */
static int take_chunk(struct feed *feed, const struct run *runs, size_t run_count,
                      struct chunk **result, struct sheaf_error *err)
{
    const uint64_t memory = chunk_memory(runs, run_count, feed->own_frames);
    struct chunk *chunk;
    int code;

    if (!budget_take(&feed->budget, memory))
        return SHEAF_END;
    chunk = new_chunk(feed);
    if (chunk == NULL)
        return err_memory(err, sizeof(*chunk));
    chunk->job.run = chunk_run;
    chunk->dataset = feed->dataset;
    chunk->own_frames = feed->own_frames;
    chunk->workers = feed->workers;
    chunk->memory_bytes = memory;
    code = chunk_prepare(chunk, runs, run_count, feed->frames, err);
    trim_spares(feed);
    if (code != SHEAF_OK) {
        recycle(feed, chunk);
        return code;
    }
    *result = chunk;
    return SHEAF_OK;
}

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

/* Waits for the shard to be open; the code that it was opened with. */
static int use_shard(struct feed *feed, struct shard *shard, struct sheaf_error *err)
{
    if (!wait_for_shard(feed, shard))
        return err_set(err, SHEAF_ERR_INTERRUPTED, "interrupted");
    if (shard->code != SHEAF_OK)
        *err = shard->error;
    return shard->code;
}

/* Makes these runs the lane's next chunk, and begins to read it.  SHEAF_END: the budget has no
 * room for it now. */
static int begin_chunk(struct feed *feed, struct lane *lane, const struct run *runs,
                       size_t run_count, struct sheaf_error *err)
{
    struct chunk *chunk = NULL;
    const int code = take_chunk(feed, runs, run_count, &chunk, err);

    if (code == SHEAF_END)
        err_set(err, SHEAF_ERR_LIMIT, "%s: the next %" PRIu64 " bytes do not fit into the memory "
                "budget of %" PRIu64 " bytes, of which %" PRIu64 " are in use: raise it, or lower "
                "the shuffle buffer", feed->dataset->urls[runs[0].shard->number],
                chunk_data_bytes(runs, run_count), feed->budget.limit, feed->budget.used);
    if (code != SHEAF_OK)
        return code;
    append_chunk(feed, lane, chunk);
    lane->planned += chunk->count;
    if (runs[0].shard->object->is_remote)
        chunk_fetch(chunk);
    else
        workers_submit(feed->workers, &chunk->job);
    return SHEAF_OK;
}

/* How many of the records that are due make the next chunk. */
static size_t draw_count(const struct feed *feed, const struct lane *lane)
{
    const struct draws *d = lane->draws;
    const uint64_t most = chunk_bytes(feed, lane);
    uint64_t bytes = 0;
    size_t count = 0;

    while (d->due_first + count < d->due_count) {
        const struct run *run = &d->due[d->due_first + count];

        if (count != 0 && (!workers_is_done(feed->workers, &run->shard->job)
                           || run->shard->code != SHEAF_OK))
            break;
        bytes += index_frame_bytes(run->shard->section, run->first);
        if (count != 0 && bytes > most)
            break;
        count++;
    }
    return count;
}

/* Until what the lane draws from is warm.  SHEAF_END: it is not, and there are chunks enough not
 * to wait for it now. */
static int wait_for_warmth(struct feed *feed, struct lane *lane, struct sheaf_error *err)
{
    struct job *job = draws_warm(lane->draws, feed->workers);

    while (job != NULL && lane->planned >= DRAWS_COLD) {
        if (lane->first != NULL)
            return SHEAF_END;
        if (!workers_wait_or(feed->workers, job, true, feed->interrupt, &feed->stall_ns))
            return err_set(err, SHEAF_ERR_INTERRUPTED, "interrupted");
        job = draws_warm(lane->draws, feed->workers);
    }
    return SHEAF_OK;
}

static int plan_draws(struct feed *feed, struct lane *lane, struct sheaf_error *err)
{
    struct draws *d = lane->draws;
    int code = wait_for_warmth(feed, lane, err);
    size_t count;

    if (code == SHEAF_OK)
        code = draws_fill(d, err);
    if (code == SHEAF_OK)
        code = use_shard(feed, d->due[d->due_first].shard, err);
    if (code != SHEAF_OK)
        return code;
    count = draw_count(feed, lane);
    code = begin_chunk(feed, lane, d->due + d->due_first, count, err);
    if (code == SHEAF_OK)
        draws_took(d, count);
    return code;
}

/* Plans the next chunk in the order of the line. */
static int plan_stretch(struct feed *feed, struct lane *lane, struct sheaf_error *err)
{
    const uint64_t place = lane_intake_place(lane, lane->planned);
    const struct order_run found = order_line_locate(&feed->line, place);
    struct run run;
    int code = enter_shard(feed, lane, &found, lane->planned, err);

    if (code == SHEAF_OK)
        code = use_shard(feed, lane->shard, err);
    if (code != SHEAF_OK)
        return code;
    run = (struct run){ lane->shard, found.record, chunk_count(feed, lane, &found, place) };
    code = begin_chunk(feed, lane, &run, 1, err);
    if (code == SHEAF_OK)
        run.shard->users++;
    return code;
}

/* Plans the next chunk of an indexed lane.  SHEAF_END: the budget has no room for it now. */
static int plan_chunk(struct feed *feed, struct lane *lane, struct sheaf_error *err)
{
    return lane->draws != NULL ? plan_draws(feed, lane, err) : plan_stretch(feed, lane, err);
}

/* The lane whose next chunk is needed first; NULL if all is planned. */
static struct lane *neediest(struct feed *feed)
{
    struct lane *found = NULL;

    for (uint32_t i = 0; i < feed->lane_count; i++) {
        struct lane *lane = &feed->lanes[i];

        if (lane->planned < lane_intakes(lane)
            && (found == NULL || lane->planned < found->planned))
            found = lane;
    }
    return found;
}

/* Each stream works ahead by a few chunks of its own. */
static int pump_streams(struct feed *feed, struct sheaf_error *err)
{
    for (uint32_t i = 0; i < feed->lane_count; i++) {
        struct lane *lane = &feed->lanes[i];

        while (lane->waiting < STREAM_CHUNKS) {
            struct chunk *chunk = new_chunk(feed);

            if (chunk == NULL)
                return err_memory(err, sizeof(*chunk));
            stream_plan(lane->stream, chunk);
            append_chunk(feed, lane, chunk);
            lane->waiting++;
        }
    }
    return SHEAF_OK;
}

int feed_pump(struct feed *feed, struct sheaf_error *err)
{
    if (feed->dataset->is_stream)
        return pump_streams(feed, err);
    while (feed->outstanding < feed->outstanding_limit) {
        struct lane *lane;
        int code;

        lane = neediest(feed);
        if (lane == NULL)
            return SHEAF_OK;
        code = plan_chunk(feed, lane, err);
        if (code == SHEAF_END)
            return SHEAF_OK;
        if (code != SHEAF_OK)
            return code;
    }
    return SHEAF_OK;
}

/* ---- Taking --------------------------------------------------------------------------------- */

/* Takes the lane's first chunk away: all its items are taken. */
static void retire(struct feed *feed, struct lane *lane)
{
    struct chunk *chunk = lane->first;

    lane->first = chunk->next;
    if (lane->first == NULL)
        lane->last = NULL;
    feed->outstanding--;
    lane->waiting -= lane->stream != NULL;
    feed->read_bytes += chunk->read_bytes;
    if (feed->window.most != 0
        && window_took(&feed->window, chunk->read_bytes, feed->stall_ns, clock_ns()))
        feed->outstanding_limit = feed->lane_count + feed->window.now;
    chunk_drop_shards(chunk, &feed->shards);
    if (chunk->own_frames) {
        recycle(feed, chunk);
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
        recycle(feed, chunk);
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

/* Waits for the lane's first chunk.  There is one unless the budget had no room. */
static int first_chunk(struct feed *feed, struct lane *lane, const volatile int *interrupt,
                       struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (lane->first == NULL)
        code = feed_pump(feed, err);
    if (code != SHEAF_OK)
        return code;
    if (lane->first == NULL)        /* others filled the window */
        code = plan_chunk(feed, lane, err);
    if (code != SHEAF_OK)
        return code == SHEAF_END ? SHEAF_ERR_LIMIT : code;
    if (lane->first->is_done)
        return lane->first->code;
    if (!workers_wait_or(lane->first->workers, &lane->first->job,
                         dataset_is_local(feed->dataset), interrupt, &feed->stall_ns))
        return err_set(err, SHEAF_ERR_INTERRUPTED, "interrupted");
    lane->first->is_done = true;
    feed->passed_over += lane->first->passed_over;
    if (lane->first->code != SHEAF_OK)
        *err = lane->first->error;
    return lane->first->code;
}

/* A stream's items are only now known to need memory: the one that is to be taken gets a piece of
 * its own for the shuffle buffer, or else its chunk, which may then be with the caller for longer
 * than the stream counts on, is accounted for. */
static int account_stream(struct feed *feed, struct chunk *chunk, struct sheaf_error *err)
{
    struct item *item = &chunk->items[chunk->taken];

    if (feed->own_frames) {
        item->piece = heap_take(feed->frames, item->size);
        item->owns = true;
        if (item->piece != NULL) {
            if (item->bad == NULL)
                item->data = memcpy(item->piece, item->data, item->size);
            return SHEAF_OK;
        }
    } else if (chunk->memory_bytes != 0
               || budget_take(&feed->budget, chunk_kept_bytes(chunk))) {
        chunk->memory_bytes = chunk_kept_bytes(chunk);
        return SHEAF_OK;
    }
    return err_set(err, SHEAF_ERR_LIMIT, "a sample of %zu bytes does not fit into the memory "
                   "budget of %" PRIu64 " bytes, of which %" PRIu64 " are in use: raise it, or "
                   "lower the shuffle buffer", item->size, feed->budget.limit,
                   feed->budget.used);
}

int feed_take(struct feed *feed, struct lane *lane, struct item *item,
              const volatile int *interrupt, struct sheaf_error *err)
{
    struct chunk *chunk;
    int code = SHEAF_OK;

    for (;;) {
        if (lane->stream == NULL && lane->taken == lane_intakes(lane))
            return SHEAF_END;
        code = first_chunk(feed, lane, interrupt, err);
        if (code != SHEAF_OK)
            return code;
        chunk = lane->first;
        if (chunk->taken < chunk->count)
            break;
        if (chunk->is_last) {
            *err = chunk->error;
            return chunk->tail_code == SHEAF_OK ? SHEAF_END : chunk->tail_code;
        }
        retire(feed, lane);
    }
    if (chunk->stream != NULL)
        code = account_stream(feed, chunk, err);
    if (code != SHEAF_OK)
        return code;
    *item = chunk->items[chunk->taken];
    chunk->taken++;
    lane->taken++;
    if (chunk->taken == chunk->count && !chunk->is_last) {
        struct sheaf_error later;

        /* What fails here fails again when it is needed, and is an error then. */
        retire(feed, lane);
        (void)feed_pump(feed, &later);
    }
    return SHEAF_OK;
}
