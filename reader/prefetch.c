/* SPDX-License-Identifier: MIT
 *
 * The prefetch: planning chunks for the lanes, and taking items from them; see lane.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/flag.h"
#include "reader/deferred.h"
#include "reader/stream.h"

#define CHUNK_FIRST_BYTES ((uint64_t)64 << 10)     /* of a lane's first chunk */
#define DRAWS_COLD        32u   /* the first samples of a lane, which wait for no others */

/* ---- Planning ------------------------------------------------------------------------------- */

/* Makes use of a shard.  SHEAF_END: the budget has no room for its section now. */
static int use_shard(struct feed *feed, uint32_t number, struct shard **shard,
                     struct sheaf_error *err)
{
    const int code = shards_use(&feed->shards, number, shard, err);

    if (code != SHEAF_OK)
        *shard = NULL;
    return code == SHEAF_ERR_LIMIT ? SHEAF_END : code;
}

/* Makes lane->shard the shard of the run, and begins to open the one that follows it.  SHEAF_END:
 * the budget has no room for its section now. */
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
            code = use_shard(feed, run->shard, &lane->shard, err);
        }
    }
    if (code == SHEAF_OK && lane->ahead == NULL && intake >= lane->early + lane->fill
        && run->count < lane_intakes(lane) - intake) {
        const struct order_run next = order_line_locate(&feed->line, lane_intake_place(lane, intake)
                                                                     + run->count);
        struct sheaf_error ignored;

        /* Only an advance: if the budget has no room now, it is opened when its turn comes. */
        (void)use_shard(feed, next.shard, &lane->ahead, &ignored);
    }
    return code;
}

/* Raw bytes of the lane's next chunk.  The first ones are small: the first sample should not wait
 * for many. */
static uint64_t chunk_bytes(const struct feed *feed, const struct lane *lane)
{
    return MIN(feed->chunk_bytes, CHUNK_FIRST_BYTES * (1 + lane->planned));
}

/* Frames so large are deferred: in the shuffle buffer they would take the place of many. */
static bool is_outsize(const struct feed *feed, const struct index_section *s, uint64_t record)
{
    return s->offsets[record + 1] - s->offsets[record] > feed->outsize_bytes;
}

/* How many records from the lane's next intake on make the next chunk: consecutive places in one
 * shard, of chunk_bytes together or, as long as there is memory, to the end of the codec block that
 * passes them. */
static size_t chunk_count(const struct feed *feed, const struct lane *lane,
                          const struct order_run *run, uint64_t place)
{
    const struct index_section *s = lane->shard->section;
    const uint64_t left = MIN(lane_intakes(lane) - lane->planned, run->count);
    uint64_t stop = s->offsets[run->record] + chunk_bytes(feed, lane);
    size_t count = 1;

    if (s->blocks != NULL && feed->cuts_blocks) {
        stop = MIN(stop, s->blocks[index_block_of(s, s->offsets[run->record]) + 1].raw_offset);
    } else if (s->blocks != NULL) {
        const uint64_t block = index_block_of(s, MIN(stop, s->offsets[s->samples]) - 1);

        stop = s->blocks[block].raw_offset;
        if (stop <= s->offsets[run->record])
            stop = s->blocks[block + 1].raw_offset;
    }
    while (count < left && s->offsets[run->record + count + 1] <= stop
           && !is_outsize(feed, s, run->record + count)
           && lane_intake_place(lane, lane->planned + count) == place + count)
        count++;
    return count;
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

int feed_open_shard(struct feed *feed, struct shard *shard, struct sheaf_error *err)
{
    if (!wait_for_shard(feed, shard))
        return err_set(err, SHEAF_ERR_INTERRUPTED, "interrupted");
    if (shard->code != SHEAF_OK)
        *err = shard->error;
    return shard->code;
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
    if (code == SHEAF_ERR_LIMIT)
        return SHEAF_END;
    if (code == SHEAF_OK)
        code = feed_open_shard(feed, d->due[d->due_first].shard, err);
    if (code != SHEAF_OK)
        return code;
    count = draw_count(feed, lane);
    code = feed_begin_chunk(feed, lane, d->due + d->due_first, count, false, err);
    if (code == SHEAF_OK)
        draws_took(d, count);
    return code;
}

/* Where the lane's next intake is. */
static struct order_run next_run(const struct feed *feed, const struct lane *lane)
{
    return order_line_locate(&feed->line, lane_intake_place(lane, lane->planned));
}

/* Plans the next chunk in the order of the line. */
static int plan_stretch(struct feed *feed, struct lane *lane, bool reserved,
                        struct sheaf_error *err)
{
    const uint64_t place = lane_intake_place(lane, lane->planned);
    const struct order_run found = next_run(feed, lane);
    struct run run;
    int code = enter_shard(feed, lane, &found, lane->planned, err);

    if (code == SHEAF_OK)
        code = feed_open_shard(feed, lane->shard, err);
    if (code != SHEAF_OK)
        return code;
    if (is_outsize(feed, lane->shard->section, found.record))
        return feed_defer_chunk(feed, lane, &found, false, err);
    run = (struct run){ lane->shard, found.record, chunk_count(feed, lane, &found, place) };
    code = feed_begin_chunk(feed, lane, &run, 1, reserved, err);
    if (code == SHEAF_OK)
        run.shard->users++;
    return code;
}

/* Plans the next chunk of an indexed lane.  SHEAF_END: the budget has no room for it now. */
static int plan_chunk(struct feed *feed, struct lane *lane, struct sheaf_error *err)
{
    return lane->draws != NULL ? plan_draws(feed, lane, err)
                               : plan_stretch(feed, lane, false, err);
}

/* The lane's next record; its shard becomes lane->alone. */
static int find_alone(struct feed *feed, struct lane *lane, uint64_t *record,
                      struct sheaf_error *err)
{
    const struct draws *d = lane->draws;
    uint32_t number;

    if (d != NULL) {
        number = d->due[d->due_first].shard->number;
        *record = d->due[d->due_first].first;
    } else {
        const struct order_run run = next_run(feed, lane);

        number = run.shard;
        *record = run.record;
    }
    if (lane->alone != NULL && lane->alone->number == number)
        return SHEAF_OK;
    shards_drop(&feed->shards, lane->alone);
    lane->alone = NULL;
    return shards_use_reserved(&feed->shards, number, &lane->alone, err);
}

/* Makes the lane's next chunk one record, read with what is reserved. */
static int plan_alone(struct feed *feed, struct lane *lane, struct sheaf_error *err)
{
    struct chunk *chunk;
    uint64_t record = 0;
    int code = lane->draws != NULL ? draws_fill(lane->draws, err) : SHEAF_OK;

    if (code == SHEAF_OK)
        code = find_alone(feed, lane, &record, err);
    if (code == SHEAF_OK)
        code = feed_open_shard(feed, lane->alone, err);
    if (code == SHEAF_OK)
        code = alone_begin(feed, lane->alone, record, true, &chunk, err);
    if (code == SHEAF_END)
        code = feed_is_full(feed, lane->alone, record, err);
    if (code != SHEAF_OK)
        return code;
    lane->alone = NULL;
    feed_append(feed, lane, chunk);
    lane->planned++;
    if (lane->draws != NULL) {
        shards_drop(&feed->shards, lane->draws->due[lane->draws->due_first].shard);
        draws_took(lane->draws, 1);
    }
    return SHEAF_OK;
}

/* Plans a chunk for a lane whose turn it is: if there is no room, with what is reserved for it, of
 * one record if need be. */
static int plan_needed(struct feed *feed, struct lane *lane, struct sheaf_error *err)
{
    int code = plan_chunk(feed, lane, err);
    struct order_run run;

    if (code != SHEAF_END)
        return code;
    if (!feed->own_frames)
        return plan_alone(feed, lane, err);
    code = plan_stretch(feed, lane, true, err);
    if (code != SHEAF_END)
        return code;
    run = next_run(feed, lane);
    code = feed_defer_chunk(feed, lane, &run, true, err);
    return code != SHEAF_END ? code
         : err_set(err, SHEAF_ERR_LIMIT, "the memory budget of %" PRIu64 " bytes is used up",
                   feed->budget.limit);
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
            struct chunk *chunk = feed_new_chunk(feed, STREAM_CHUNK_BYTES);

            if (chunk == NULL)
                return err_memory(err, sizeof(*chunk));
            stream_plan(lane->stream, chunk);
            feed_append(feed, lane, chunk);
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
    if (feed->window.most != 0
        && window_took(&feed->window, chunk->read_bytes, feed->stall_ns, clock_ns()))
        feed->outstanding_limit = feed->lane_count + feed->window.now;
    feed_retire(feed, chunk);
}

void feed_retire(struct feed *feed, struct chunk *chunk)
{
    feed->read_bytes += chunk->read_bytes;
    chunk_drop_shards(chunk, &feed->shards);
    if (chunk->own_frames) {
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
        code = plan_needed(feed, lane, err);
    if (code != SHEAF_OK)
        return code;
    if (lane->first->is_done)
        return lane->first->code;
    if (!workers_wait_or(lane->first->workers, &lane->first->job,
                         dataset_is_local(feed->dataset), interrupt, &feed->stall_ns))
        return err_set(err, SHEAF_ERR_INTERRUPTED, "interrupted");
    lane->first->is_done = true;
    feed->passed_over += lane->first->passed_over;
    if (lane->first->reserved_bytes != 0 || feed->cuts_blocks)
        chunk_shrink(lane->first, &feed->budget);
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
            feed->read_bytes += chunk->read_bytes;      /* it is not retired, but asked again */
            chunk->read_bytes = 0;
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
    item->repeats = lane_intake_repeats(lane, lane->taken);
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
