/* SPDX-License-Identifier: MIT
 *
 * Planning chunks for the lanes, and taking items from them; see prefetch.h. */
#include "reader/prefetch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/deferred.h"
#include "reader/lazy_shuffle.h"
#include "reader/stream.h"
#include "reader/view/stretch.h"

#define DRAWS_COLD        32u   /* the first samples of a lane, which wait for no others */

/* ---- Chunks --------------------------------------------------------------------------------- */

/* Makes the chunk the lane's last one. */
static void append(struct feed *feed, struct prefetch *p, struct chunk *chunk)
{
    if (p->first == NULL)
        p->first = chunk;
    else
        p->last->next = chunk;
    p->last = chunk;
    feed->outstanding++;
}

/* What the chunks that are done keep of reads and shards goes to others, which need it now. */
static void shrink_chunks(struct feed *feed)
{
    for (uint32_t i = 0; i < feed->prefetch_count; i++)
        for (struct chunk *c = feed->prefetches[i].first; c != NULL; c = c->next)
            if (c->run_count != 0 && (c->is_done || workers_is_done(feed->workers, &c->job))) {
                chunk_shrink(c, &feed->budget);
                chunk_drop_shards(c, &feed->shards);
            }
}

/* Whether a chunk is read in pieces: of a local shard, rather than a whole block for a part of it;
 * remotely, where each piece is a round trip, only if there is no other way. */
static bool is_for_pieces(const struct feed *feed, const struct run *runs, size_t run_count,
                          bool reserved)
{
    return (runs[0].shard->object->is_remote ? reserved : feed->cuts_blocks)
           && chunk_can_be_in_pieces(runs, run_count);
}

/* Takes the memory for the lane's next chunk. */
static bool take_memory(struct feed *feed, const struct run *runs, size_t run_count,
                        bool reserved, struct feed_memory *memory)
{
    if (feed->cuts_blocks && !reserved) {
        if (feed_take_passing(feed, runs, run_count, memory))
            return true;
        shrink_chunks(feed);
        return feed_take_passing(feed, runs, run_count, memory);
    }
    memory->in_pieces = is_for_pieces(feed, runs, run_count, reserved);
    memory->bytes = chunk_memory(runs, run_count, feed->own_frames, memory->in_pieces);
    memory->reserved = reserved ? chunk_passing_bytes(runs, run_count, memory->in_pieces) : 0;
    if (feed->own_frames && heap_room(feed->frames) < chunk_frames_bytes(runs, run_count))
        return false;
    if (feed_take_memory(feed, memory))
        return true;
    shrink_chunks(feed);
    return feed_take_memory(feed, memory);
}

/* Makes these runs the lane's next chunk, and begins to read it.  `reserved`: what it needs until
 * it is done is of what is reserved.  SHEAF_END: the budget has no room for it now. */
static int begin_chunk(struct feed *feed, struct prefetch *p, const struct run *runs,
                       size_t run_count, bool reserved, struct sheaf_error *err)
{
    struct feed_memory memory = { .frames = FEED_USUAL };
    struct chunk *chunk = NULL;
    int code;

    if (!take_memory(feed, runs, run_count, reserved, &memory))
        return SHEAF_END;
    code = feed_make_chunk(feed, runs, run_count, &memory, &chunk, err);
    if (code != SHEAF_OK)
        return code;
    append(feed, p, chunk);
    p->planned += chunk->count;
    feed_submit(feed, chunk);
    return SHEAF_OK;
}

/* Makes the lane's next chunk one deferred record.  SHEAF_END: the budget has no room for it. */
static int defer(struct feed *feed, struct prefetch *p, const struct order_run *run,
                 size_t bytes, bool reserved, struct sheaf_error *err)
{
    struct chunk *chunk = NULL;
    const int code = feed_make_deferred(feed, run, bytes, reserved, &chunk, err);

    if (code != SHEAF_OK)
        return code;
    append(feed, p, chunk);
    p->planned++;
    return SHEAF_OK;
}

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

/* Begins to open the shard that the line enters when it leaves that of the intake.  Only an
 * advance: if the budget has no room now, it is opened when its turn comes. */
static void open_next(struct feed *feed, struct prefetch *p, uint64_t intake)
{
    const uint64_t place = intakes_place(p->intakes, intake);
    uint64_t after;
    uint32_t number;
    struct sheaf_error ignored;

    if (p->next != NULL || intake < p->intakes->early + p->intakes->fill)
        return;
    after = order_line_leave(p->line, place);
    if (after - place >= intakes_count(p->intakes) - intake)
        return;
    number = order_line_locate(p->line, after).shard;
    if (number != p->shard->number)
        (void)use_shard(feed, number, &p->next, &ignored);
}

/* Makes p->shard the shard of the run, and begins to open the one that follows it.  SHEAF_END:
 * the budget has no room for its section now. */
static int enter_shard(struct feed *feed, struct prefetch *p, const struct order_run *run,
                       uint64_t intake, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (p->shard == NULL || p->shard->number != run->shard) {
        shards_drop(&feed->shards, p->shard);
        p->shard = p->next;
        p->next = NULL;
    }
    if (p->shard != NULL && p->shard->number != run->shard) {   /* a pad, which lies elsewhere */
        shards_drop(&feed->shards, p->shard);
        p->shard = NULL;
    }
    if (p->shard == NULL)
        code = use_shard(feed, run->shard, &p->shard, err);
    if (code == SHEAF_OK)
        open_next(feed, p, intake);
    return code;
}

/* How many of the records that are due make the next chunk. */
static size_t draw_count(const struct feed *feed, const struct prefetch *p)
{
    const struct draws *d = p->draws;
    const uint64_t most = stretch_bytes(feed, p->planned);
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
static int wait_for_warmth(struct feed *feed, struct prefetch *p, struct sheaf_error *err)
{
    struct job *job = draws_warm(p->draws, feed->workers);

    while (job != NULL && p->planned >= DRAWS_COLD) {
        if (p->first != NULL)
            return SHEAF_END;
        if (!workers_wait_or(feed->workers, job, true, feed->interrupt, &feed->stall_ns))
            return err_set(err, SHEAF_ERR_INTERRUPTED, "interrupted");
        job = draws_warm(p->draws, feed->workers);
    }
    return SHEAF_OK;
}

static int plan_draws(struct feed *feed, struct prefetch *p, struct sheaf_error *err)
{
    struct draws *d = p->draws;
    int code = wait_for_warmth(feed, p, err);
    size_t count;

    if (code == SHEAF_OK)
        code = draws_fill(d, err);
    if (code == SHEAF_ERR_LIMIT)
        return SHEAF_END;
    if (code == SHEAF_OK)
        code = feed_open_shard(feed, d->due[d->due_first].shard, err);
    if (code != SHEAF_OK)
        return code;
    count = draw_count(feed, p);
    code = begin_chunk(feed, p, d->due + d->due_first, count, false, err);
    if (code == SHEAF_OK)
        draws_took(d, count);
    return code;
}

/* Where the lane's next intake is. */
static struct order_run next_run(const struct prefetch *p)
{
    return order_line_locate(p->line, intakes_place(p->intakes, p->planned));
}

/* Whether the shuffle buffer has room for a chunk that is not needed yet, and for another. */
static bool has_room_ahead(const struct feed *feed, const struct run *runs, size_t run_count)
{
    return !feed->own_frames
           || heap_room(feed->frames) >= 2 * chunk_frames_bytes(runs, run_count);
}

/* Plans the next chunk in the order of the line. */
static int plan_stretch(struct feed *feed, struct prefetch *p, bool reserved,
                        struct sheaf_error *err)
{
    const struct order_run found = next_run(p);
    struct stretch stretch;
    int code = enter_shard(feed, p, &found, p->planned, err);

    if (code == SHEAF_OK && p->is_ahead && !workers_is_done(feed->workers, &p->shard->job))
        return SHEAF_END;
    if (code == SHEAF_OK)
        code = feed_open_shard(feed, p->shard, err);
    if (code != SHEAF_OK)
        return code;
    if (stretch_is_outsize(feed, p->shard->section, found.record))
        return defer(feed, p, &found, 0, false, err);
    stretch.shard = p->shard;
    stretch.line = p->line;
    stretch.intakes = p->intakes;
    stretch.planned = p->planned;
    stretch_plan(feed, &found, &stretch);
    if (p->is_ahead && !has_room_ahead(feed, stretch.runs, stretch.run_count))
        return SHEAF_END;
    code = begin_chunk(feed, p, stretch.runs, stretch.run_count, reserved, err);
    if (code == SHEAF_OK)
        p->shard->users += (unsigned)stretch.run_count;
    return code;
}

/* Plans the next chunk of an indexed lane.  SHEAF_END: the budget has no room for it now. */
static int plan_chunk(struct feed *feed, struct prefetch *p, struct sheaf_error *err)
{
    return p->draws != NULL ? plan_draws(feed, p, err)
                            : plan_stretch(feed, p, false, err);
}

/* The lane's next record; its shard becomes p->alone. */
static int find_alone(struct feed *feed, struct prefetch *p, uint64_t *record,
                      struct sheaf_error *err)
{
    const struct draws *d = p->draws;
    uint32_t number;

    if (d != NULL) {
        number = d->due[d->due_first].shard->number;
        *record = d->due[d->due_first].first;
    } else {
        const struct order_run run = next_run(p);

        number = run.shard;
        *record = run.record;
    }
    if (p->alone != NULL && p->alone->number == number)
        return SHEAF_OK;
    shards_drop(&feed->shards, p->alone);
    p->alone = NULL;
    return shards_use_reserved(&feed->shards, number, &p->alone, err);
}

/* Makes the lane's next chunk one record, read with what is reserved. */
static int plan_alone(struct feed *feed, struct prefetch *p, struct sheaf_error *err)
{
    struct chunk *chunk;
    uint64_t record = 0;
    int code = p->draws != NULL ? draws_fill(p->draws, err) : SHEAF_OK;

    if (code == SHEAF_OK)
        code = find_alone(feed, p, &record, err);
    if (code == SHEAF_OK)
        code = feed_open_shard(feed, p->alone, err);
    if (code == SHEAF_OK)
        code = alone_begin(feed, p->alone, record, true, &chunk, err);
    if (code == SHEAF_END)
        code = feed_is_full(feed, p->alone, record, err);
    if (code != SHEAF_OK)
        return code;
    p->alone = NULL;
    append(feed, p, chunk);
    p->planned++;
    if (p->draws != NULL) {
        shards_drop(&feed->shards, p->draws->due[p->draws->due_first].shard);
        draws_took(p->draws, 1);
    }
    return SHEAF_OK;
}

/* What the record's piece takes, if its shard is open; else 0. */
static size_t piece_bytes(const struct feed *feed, const struct prefetch *p,
                          const struct order_run *run)
{
    struct shard *s = p->shard;

    if (s == NULL || s->number != run->shard || !workers_is_done(feed->workers, &s->job)
        || s->code != SHEAF_OK)
        return 0;
    return index_frame_bytes(s->section, run->record)
           + chunk_names_bytes(s->section, run->record, 1);
}

/* Whether a lane's next intake is needed sooner than another's. */
static bool is_behind(const struct prefetch *a, const struct prefetch *b)
{
    return (double)(a->before + a->planned) * b->pace < (double)(b->before + b->planned) * a->pace;
}

/* Of the other lanes that have a shard open, the one that has planned furthest; NULL: none. */
static struct prefetch *furthest(struct feed *feed, const struct prefetch *but)
{
    struct prefetch *found = NULL;

    for (uint32_t i = 0; i < feed->prefetch_count; i++) {
        struct prefetch *p = &feed->prefetches[i];

        if (p != but && p->shard != NULL && workers_is_done(feed->workers, &p->shard->job)
            && (found == NULL || is_behind(found, p)))
            found = p;
    }
    return found;
}

/* Closes a shard for a lane whose turn it is: lanes that cannot all have theirs open then open it
 * for a chunk each, rather than some of them for every sample.  False: there is none. */
static bool give_way(struct feed *feed, const struct prefetch *p)
{
    struct prefetch *other = furthest(feed, p);

    if (other == NULL)
        return false;
    shrink_chunks(feed);
    shards_drop(&feed->shards, other->next);
    shards_drop(&feed->shards, other->shard);
    other->shard = other->next = NULL;
    return true;
}

/* Plans a chunk for a lane whose turn it is: if there is no room, with what is reserved for it, of
 * one record if necessary. */
static int plan_needed(struct feed *feed, struct prefetch *p, struct sheaf_error *err)
{
    int code = plan_chunk(feed, p, err);
    struct order_run run;

    while (code == SHEAF_END && feed->few_sections && give_way(feed, p))
        code = plan_chunk(feed, p, err);
    if (code != SHEAF_END)
        return code;
    if (!feed->own_frames)
        return plan_alone(feed, p, err);
    code = plan_stretch(feed, p, true, err);
    if (code != SHEAF_END)
        return code;
    run = next_run(p);
    code = defer(feed, p, &run, piece_bytes(feed, p, &run), true, err);
    return code != SHEAF_END ? code
         : err_set(err, SHEAF_ERR_LIMIT, "the memory budget of %" PRIu64 " bytes is used up",
                   feed->budget.limit);
}

/* The lane whose next chunk is needed first; NULL if all is planned.  `ahead`: those whose first
 * turn is later take part. */
static struct prefetch *neediest(struct feed *feed, bool ahead)
{
    struct prefetch *found = NULL;

    for (uint32_t i = 0; i < feed->prefetch_count; i++) {
        struct prefetch *p = &feed->prefetches[i];

        if (p->intakes != NULL && p->planned < intakes_count(p->intakes)
            && (ahead || !p->is_ahead) && (found == NULL || is_behind(p, found)))
            found = p;
    }
    return found;
}

/* Each stream works ahead by a few chunks of its own. */
static int pump_streams(struct feed *feed, struct sheaf_error *err)
{
    for (uint32_t i = 0; i < feed->lane_count; i++) {
        struct prefetch *p = &feed->prefetches[i];

        while (p->waiting < STREAM_CHUNKS) {
            struct chunk *chunk = feed_new_chunk(feed, STREAM_CHUNK_BYTES);

            if (chunk == NULL)
                return err_memory(err, sizeof(*chunk));
            stream_plan(p->stream, chunk);
            append(feed, p, chunk);
            p->waiting++;
        }
    }
    return SHEAF_OK;
}

int prefetch_pump(struct feed *feed, struct sheaf_error *err)
{
    bool ahead = true;

    if (feed->dataset->is_stream)
        return pump_streams(feed, err);
    while (feed->outstanding < feed->outstanding_limit) {
        struct prefetch *p = neediest(feed, ahead);
        int code;

        if (p == NULL)
            return SHEAF_OK;
        code = plan_chunk(feed, p, err);
        if (code != SHEAF_OK && p->is_ahead) {      /* others need room, or this is too early */
            ahead = false;
            continue;
        }
        if (code == SHEAF_END)
            return SHEAF_OK;
        if (code != SHEAF_OK)
            return code;
    }
    return SHEAF_OK;
}

/* ---- Taking --------------------------------------------------------------------------------- */

/* Takes the lane's first chunk away: all its items are taken. */
static void retire(struct feed *feed, struct prefetch *p)
{
    struct chunk *chunk = p->first;

    p->first = chunk->next;
    if (p->first == NULL)
        p->last = NULL;
    feed->outstanding--;
    p->waiting -= p->stream != NULL;
    if (feed->window.most != 0
        && window_took(&feed->window, chunk->read_bytes, feed->stall_ns, clock_ns()))
        feed->outstanding_limit = feed->lane_count + feed->window.now;
    feed_retire(feed, chunk);
}

void prefetch_end(struct feed *feed, struct prefetch *p)
{
    while (p->first != NULL)
        retire(feed, p);
    prefetch_clear(feed, p);
}

bool prefetch_is_here(const struct prefetch *p)
{
    struct chunk *chunk = p->first;

    if (chunk != NULL && chunk->taken == chunk->count)
        chunk = chunk->next;
    return chunk != NULL && (chunk->is_done || workers_is_done(chunk->workers, &chunk->job));
}

/* Waits for the lane's first chunk.  There is one unless the budget had no room. */
static int first_chunk(struct feed *feed, struct prefetch *p, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (p->first == NULL)
        code = prefetch_pump(feed, err);
    if (code != SHEAF_OK)
        return code;
    if (p->first == NULL)           /* others filled the window */
        code = plan_needed(feed, p, err);
    if (code != SHEAF_OK)
        return code;
    if (p->first->is_done)
        return p->first->code;
    if (!workers_wait_or(p->first->workers, &p->first->job,
                         dataset_is_local(feed->dataset), feed->interrupt, &feed->stall_ns))
        return err_set(err, SHEAF_ERR_INTERRUPTED, "interrupted");
    p->first->is_done = true;
    feed->read_bytes += p->first->read_bytes;   /* an epoch may end within it */
    feed->passed_over += p->first->passed_over;
    feed->lost_bytes += p->first->lost_bytes;
    if (p->first->reserved_bytes != 0 || feed->cuts_blocks)
        chunk_shrink(p->first, &feed->budget);
    if (p->first->code != SHEAF_OK)
        *err = p->first->error;
    return p->first->code;
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

int prefetch_take(struct feed *feed, struct prefetch *p, struct item *item,
                  struct sheaf_error *err)
{
    struct chunk *chunk;
    int code = SHEAF_OK;

    for (;;) {
        if (p->stream == NULL && p->taken == intakes_count(p->intakes))
            return SHEAF_END;
        code = first_chunk(feed, p, err);
        if (code != SHEAF_OK)
            return code;
        chunk = p->first;
        if (chunk->taken < chunk->count)
            break;
        if (chunk->is_last) {
            *err = chunk->error;
            return chunk->tail_code == SHEAF_OK ? SHEAF_END : chunk->tail_code;
        }
        retire(feed, p);
    }
    if (chunk->stream != NULL)
        code = account_stream(feed, chunk, err);
    if (code != SHEAF_OK)
        return code;
    *item = chunk->items[chunk->taken];
    item->repeats = p->draws != NULL ? draws_repeats(p->draws, p->taken)
                                     : intakes_repeat(p->intakes, p->taken);
    chunk->taken++;
    p->taken++;
    if (chunk->taken == chunk->count && !chunk->is_last && !chunk->is_passing) {
        struct sheaf_error later;

        /* What fails here fails again when it is needed, and is an error then. */
        retire(feed, p);
        (void)prefetch_pump(feed, &later);
    }
    return SHEAF_OK;
}
