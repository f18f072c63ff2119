/* SPDX-License-Identifier: MIT
 *
 * An epoch: its memory, its lanes, and the turn that they take. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/reader.h"
#include "reader/stream.h"

/* Raw bytes of a chunk.  From a local file, small enough that a chunk is checked while it is in
 * the cache, and enough that threads are seldom woken for it; from afar, what makes a request
 * worth its round trip. */
#define CHUNK_LOCAL_BYTES  ((uint64_t)1 << 20)
#define CHUNK_REMOTE_BYTES ((uint64_t)8 << 20)
/* Reads from afar that are under way at once, at most; and bytes of them, and reads, that it
 * begins with. */
#define REMOTE_READS       32u
#define REMOTE_FIRST_BYTES ((uint64_t)64 << 20)
#define REMOTE_FIRST_READS 8u
#define CHUNK_LEAST_BYTES  ((uint64_t)64 << 10)
/* How long the beginning of an epoch waits for shards to be opened. */
#define BEGIN_WAIT_NS      UINT64_C(200000000)
/* What a codec block may add to a chunk: its raw bytes, and itself. */
#define BLOCK_BYTES        ((uint64_t)10 << 20)

/* ---- Memory --------------------------------------------------------------------------------- */

struct needs {
    uint64_t slots;             /* samples in the shuffle buffers */
    uint64_t mean;              /* bytes of a sample, where they are largest */
    uint64_t largest;
    uint64_t sections;
};

static struct needs needs_of(const struct sheaf_reader *r)
{
    const struct sheaf_dataset *d = r->dataset;
    const struct feed *feed = &r->feed;
    struct needs n = { 0 };
    uint64_t section = 0, open_shards = 2;      /* of a lane */

    for (uint32_t i = 0; i < feed->lane_count; i++)
        n.slots += feed->lanes[i].slot_count;
    if (feed->draws)
        open_shards = draws_shards(d, &feed->order);
    for (size_t i = 0; i < d->manifest.shard_count; i++) {
        const struct manifest_shard *shard = &d->manifest.shards[i];
        const struct sheaf_dataset *source = dataset_source(d, (uint32_t)i);

        if (shard->samples != 0)
            n.mean = MAX(n.mean, shard->raw_bytes / shard->samples);
        n.largest = MAX(n.largest, shard->largest);
        if (source->index_url != NULL)
            section = MAX(section, shard->index_bytes
                          + index_memory(shard->samples, source->format->has_names, 0)
                          + (feed->draws ? shard->names_bytes : 0));
    }
    n.sections = section * MIN((uint64_t)d->manifest.shard_count, open_shards * feed->lane_count);
    return n;
}

/* What the samples of the shuffle buffers take, and a quarter more for those that are not
 * average. */
static uint64_t frames_memory(const struct sheaf_reader *r, const struct needs *n)
{
    return r->feed.own_frames ? n->slots * (n->mean + 32) * 5 / 4 : 0;
}

/* What else there must be, with chunks of so many bytes, so many in flight. */
static uint64_t other_memory(const struct sheaf_reader *r, const struct needs *n,
                             uint64_t chunk_bytes, uint64_t chunks)
{
    const uint64_t chunk = MAX(chunk_bytes, n->largest)
                         + (r->dataset->codec != NULL ? BLOCK_BYTES : 0);

    return n->sections + n->slots * sizeof(struct item) + chunks * chunk * 5 / 4;
}

/* How the budget is shared out: the heap may grow to `heap_bytes`, of which the program may be lent
 * `lend_bytes`. */
struct shares {
    uint64_t heap_bytes, lend_bytes;
};

/* What the heap had in the last epoch is its still, unless it is more than that. */
static int fit_heap(struct sheaf_reader *r, const struct shares *shares)
{
    struct feed *feed = &r->feed;
    int code = SHEAF_OK;

    if (feed->frames->size > shares->heap_bytes) {
        const bool memory_is_free = heap_is_alone(feed->frames);

        heap_close(feed->frames);
        feed->frames = NULL;
        code = reader_open_heap(r, memory_is_free, &r->error);
    }
    if (code != SHEAF_OK)
        return code;
    feed->frames->most_bytes = shares->heap_bytes;
    feed->lend_bytes = shares->lend_bytes;
    return SHEAF_OK;
}

/* Of the chunks that there is memory for, those that are worth having under way. */
static void fit_window(struct feed *feed)
{
    const unsigned most = (unsigned)feed->outstanding_limit - feed->lane_count;
    const uint64_t first = MAX(REMOTE_FIRST_BYTES / feed->chunk_bytes, REMOTE_FIRST_READS);

    window_fit(&feed->window, (unsigned)MIN(first, most), most);
    feed->outstanding_limit = feed->lane_count + feed->window.now;
}

/* Leaves to the heap what the rest can do without, and to the program what the heap can do
 * without.  Frames of a shuffle buffer fill the heap; those of chunks are about as many as chunks
 * are in flight. */
static struct shares share_out(const struct sheaf_reader *r, const struct needs *n)
{
    const struct feed *feed = &r->feed;
    const uint64_t limit = feed->budget.limit, frames = frames_memory(r, n);
    const uint64_t least = other_memory(r, n, CHUNK_LEAST_BYTES, feed->lane_count + 2u);
    const uint64_t usual = other_memory(r, n, feed->chunk_bytes, feed->outstanding_limit);
    struct shares s = { limit - least, limit - MIN(limit, least + frames) };

    if (!feed->own_frames) {
        s.heap_bytes = limit - MIN(limit, n->sections + r->table_bytes);
        s.lend_bytes = limit - MIN(limit, usual + r->table_bytes);
    }
    return s;
}

/* Chooses chunk size and window for the budget, or refuses. */
static int fit_chunks(struct sheaf_reader *r, const struct needs *n, struct shares *shares)
{
    struct feed *feed = &r->feed;
    const uint64_t frames = frames_memory(r, n);
    const uint64_t limit = feed->budget.limit;
    const uint64_t least = other_memory(r, n, CHUNK_LEAST_BYTES, feed->lane_count + 2u);

    feed->outstanding_limit = feed->lane_count + 2 * r->options.threads + 2;
    feed->chunk_bytes = MAX(CHUNK_LOCAL_BYTES, r->dataset->read_bytes);
    if (r->dataset->is_remote) {
        feed->outstanding_limit = feed->lane_count + REMOTE_READS;
        feed->chunk_bytes = CHUNK_REMOTE_BYTES;
    }
    if (least + frames > limit)
        return err_set(&r->error, SHEAF_ERR_LIMIT, "a shuffle buffer of %" PRIu64 " samples of %"
                       PRIu64 " bytes (largest %" PRIu64 ") in %u lanes takes about %" PRIu64
                       " bytes of memory, but the budget is %" PRIu64 ": raise it, or lower the "
                       "shuffle buffer", feed->own_frames ? n->slots : 0, n->mean, n->largest,
                       feed->lane_count, least + frames, limit);
    while (feed->chunk_bytes > CHUNK_LEAST_BYTES
           && other_memory(r, n, feed->chunk_bytes, feed->outstanding_limit) + frames > limit) {
        /* A request of a MiB is worth its round trip; rather fewer than smaller. */
        if (feed->chunk_bytes <= 1 << 20 && feed->outstanding_limit > feed->lane_count + 4)
            feed->outstanding_limit -= 2;
        else
            feed->chunk_bytes /= 2;
    }
    *shares = share_out(r, n);
    if (r->dataset->is_remote)
        fit_window(feed);
    return SHEAF_OK;
}

/* Shares the budget out, or refuses. */
static int fit_memory(struct sheaf_reader *r)
{
    struct feed *feed = &r->feed;
    const struct needs n = needs_of(r);
    const uint64_t limit = feed->budget.limit;
    struct shares shares = { 0 };
    int code = SHEAF_OK;

    r->table_bytes = n.slots * sizeof(struct item);
    if (feed->draws)
        r->table_bytes += feed->lane_count * order_buffer_slots(&feed->order) * sizeof(uint64_t);
    if (r->dataset->is_stream) {
        feed->chunk_bytes = STREAM_CHUNK_BYTES;
        for (uint32_t i = 0; i < feed->lane_count; i++)
            r->table_bytes += stream_memory(feed->lanes[i].stream);
        shares.heap_bytes = limit - MIN(r->table_bytes, limit);
        shares.lend_bytes = shares.heap_bytes - MIN(shares.heap_bytes, frames_memory(r, &n));
    } else {
        code = fit_chunks(r, &n, &shares);
    }
    /* Their buffers have room for up to twice what is needed. */
    feed->spare_most_bytes = 3 * feed->chunk_bytes + (r->dataset->codec != NULL ? 2 * BLOCK_BYTES
                                                                                : 0);
    if (code == SHEAF_OK)
        code = fit_heap(r, &shares);
    if (code == SHEAF_OK && !budget_take(&feed->budget, r->table_bytes))
        code = err_set(&r->error, SHEAF_ERR_LIMIT, "a shuffle buffer of %" PRIu64 " samples does "
                       "not fit into the memory budget of %" PRIu64 " bytes", n.slots, limit);
    if (code != SHEAF_OK)
        r->table_bytes = 0;
    return code;
}

/* ---- Begin and end -------------------------------------------------------------------------- */

void epoch_end(struct sheaf_reader *r)
{
    struct feed *feed = &r->feed;

    for (uint32_t i = 0; i < feed->lane_count; i++)
        lane_cancel(&feed->lanes[i]);
    workers_cancel(feed->workers);
    for (uint32_t i = 0; i < feed->lane_count; i++)
        lane_wait(&feed->lanes[i]);
    for (size_t i = 0; i < r->out_count; i++)
        item_free(&r->out[i], feed->frames);
    r->out_count = 0;
    for (uint32_t i = 0; i < feed->lane_count; i++)
        lane_clear(feed, &feed->lanes[i]);
    feed_release(feed);
    budget_give(&feed->budget, r->table_bytes);
    r->table_bytes = 0;
    order_line_free(&feed->line);
    r->kept_code = SHEAF_OK;
}

/* Damage that was found when foreign shards were scanned: in every epoch, or not at all. */
static int report_damages(struct sheaf_reader *r)
{
    int code = SHEAF_OK;

    for (size_t i = 0; code == SHEAF_OK && i < r->dataset->damage_count; i++)
        code = epoch_bad(r, r->dataset->damages[i].shard, &r->dataset->damages[i].error);
    return code;
}

int epoch_set_lanes(struct sheaf_reader *r, uint32_t lanes)
{
    const uint32_t own = lanes / (r->member.world_size * r->member.workers);

    free(r->feed.lanes);
    r->feed.lanes = calloc(own, sizeof(r->feed.lanes[0]));
    r->feed.lane_count = r->feed.lanes == NULL ? 0 : own;
    return r->feed.lanes != NULL ? SHEAF_OK
         : err_memory(&r->error, own * sizeof(r->feed.lanes[0]));
}

static int begin_lanes(struct sheaf_reader *r, uint64_t rounds, uint64_t extra)
{
    struct feed *feed = &r->feed;

    for (uint32_t i = 0; i < feed->lane_count; i++) {
        int code;

        feed->lanes[i].number = order_member_lane(&r->member, i);
        code = lane_begin(feed, &feed->lanes[i], rounds + (i < extra ? 1 : 0), &r->error);
        if (code != SHEAF_OK)
            return code;
    }
    return SHEAF_OK;
}

/* ---- The turn of the lanes ------------------------------------------------------------------ */

int epoch_bad(struct sheaf_reader *r, uint32_t shard, const struct sheaf_error *bad)
{
    if (r->options.on_corrupt == SHEAF_FAIL) {
        r->error = *bad;
        return bad->code;
    }
    if (r->stats.corrupt >= r->options.max_corrupt)
        return err_set(&r->error, bad->code, "more than %" PRIu64 " bad records: %s",
                       r->options.max_corrupt, bad->message);
    r->stats.corrupt++;
    r->sum.corrupt++;
    if (r->options.report != NULL)
        r->options.report(r->options.report_context, r->dataset->urls[shard], bad);
    return SHEAF_OK;
}

/* The stream ended before this intake: the lane has that many inputs. */
static void end_inputs(struct lane *lane)
{
    lane->shuffle.inputs = lane->taken;
    lane->shuffle.next = lane->taken;
}

/* Fills the slots at the lane's start, or the one that was emptied last. */
static int settle(struct sheaf_reader *r, struct lane *lane)
{
    int code;

    while (lane->taken < lane->early + lane->fill) {
        const uint64_t k = lane->taken - lane->early;

        code = feed_take(&r->feed, lane,
                         &lane->slots[lane->fill_slots != NULL ? lane->fill_slots[k] : k],
                         &r->interrupt, &r->error);
        if (code == SHEAF_END) {
            lane->fill = lane->shuffle.filled = lane->taken;
            end_inputs(lane);
            break;
        }
        if (code != SHEAF_OK)
            return code;
    }
    if (!lane->refill_due)
        return SHEAF_OK;
    code = feed_take(&r->feed, lane, &lane->slots[lane->refill_slot], &r->interrupt, &r->error);
    if (code == SHEAF_END) {
        end_inputs(lane);
        lane->shuffle.filled--;
        lane->slots[lane->refill_slot] = lane->slots[lane->shuffle.filled];
        memset(&lane->slots[lane->shuffle.filled], 0, sizeof(lane->slots[0]));
    } else if (code != SHEAF_OK) {
        return code;
    }
    lane->refill_due = false;
    return SHEAF_OK;
}

/* The sample that the lane gives next is known already: its bytes come into the cache while the
 * caller is busy with this one. */
static void fetch_next(const struct lane *lane)
{
    struct order_shuffle ahead = lane->shuffle;
    const uint8_t *data;

    if (ahead.filled < 2)
        return;
    data = lane->slots[order_shuffle_next(&ahead).slot].data;
    __builtin_prefetch(data);
    __builtin_prefetch(data + 64);
}

/* One step of the lane's shuffle buffer. */
static void emit(struct lane *lane, struct item *item)
{
    const struct order_step step = order_shuffle_next(&lane->shuffle);

    *item = lane->slots[step.slot];
    memset(&lane->slots[step.slot], 0, sizeof(*item));
    if (step.refill) {
        lane->refill_due = true;
        lane->refill_slot = step.slot;
    } else if (step.slot != step.last) {
        lane->slots[step.slot] = lane->slots[step.last];
        memset(&lane->slots[step.last], 0, sizeof(*item));
    }
    fetch_next(lane);
}

static bool is_over(const struct feed *feed)
{
    for (uint32_t i = 0; i < feed->lane_count; i++)
        if (feed->lanes[i].shuffle.filled != 0)
            return false;
    return true;
}

/* One turn of one lane.  SHEAF_OK with an item that has data or is bad, or with an empty one: the
 * lane has ended; SHEAF_END: all have. */
static int take_turn(struct sheaf_reader *r, struct item *item)
{
    struct lane *lane = &r->feed.lanes[r->turns % r->feed.lane_count];
    int code;

    if (lane->taken < lane->early) {    /* it is emitted as it comes */
        code = feed_take(&r->feed, lane, item, &r->interrupt, &r->error);
    } else {
        code = settle(r, lane);
        if (code == SHEAF_OK && lane->shuffle.filled != 0)
            emit(lane, item);
        else if (code == SHEAF_OK && is_over(&r->feed))
            return SHEAF_END;
    }
    r->turns += code == SHEAF_OK;
    return code;
}

int epoch_next(struct sheaf_reader *r, struct item *item)
{
    for (;;) {
        int code;

        memset(item, 0, sizeof(*item));
        code = take_turn(r, item);
        if (code != SHEAF_OK)
            return code == SHEAF_END ? sum_check(r) : code;
        if (item->data != NULL && item->bad == NULL)
            return SHEAF_OK;
        if (item->bad != NULL)
            code = epoch_bad(r, item->shard, item->bad);
        else
            r->sum.empty++;
        item_free(item, r->feed.frames);
        if (code != SHEAF_OK)
            return code;
    }
}

/* ---- Begin ---------------------------------------------------------------------------------- */

int epoch_read_forward(struct sheaf_reader *r)
{
    int code = SHEAF_OK;

    while (code == SHEAF_OK && r->turns < r->start_turns) {
        struct item item = { 0 };

        code = take_turn(r, &item);
        r->sum.read_past += code == SHEAF_OK && (item.data != NULL || item.bad != NULL);
        item_free(&item, r->feed.frames);
    }
    return code == SHEAF_END ? sum_check_start(r) : code;
}

int epoch_begin(struct sheaf_reader *r, uint64_t rounds, uint64_t extra)
{
    struct feed *feed = &r->feed;
    const struct sheaf_dataset *d = r->dataset;
    const uint64_t start = rounds * feed->lane_count + extra;
    struct sheaf_error ahead;
    int code = order_line_make(&feed->order, d->samples, d->manifest.shard_count, &feed->line,
                               &r->error);

    feed->draws = draws_are_possible(d, &feed->order, feed->lane_count);
    feed->shards.keep_lines = feed->draws;
    feed->own_frames = order_buffer_slots(&feed->order) > 1 && !feed->draws;
    if (code == SHEAF_OK)
        code = begin_lanes(r, rounds, extra);
    if (code == SHEAF_OK)
        code = fit_memory(r);
    if (code != SHEAF_OK)
        return code;
    r->epoch_samples = d->is_stream ? UINT64_MAX
                     : order_member_samples(&feed->order, &r->member, dataset_samples(d));
    r->turns = d->is_stream ? 0 : start;
    r->start_turns = start;
    r->handed = r->gap_count = 0;
    code = report_damages(r);       /* which the epoch's samples are without */
    sum_begin(r, rounds, extra);
    /* What cannot be read ahead now is an error, or waited for, when it is needed: next() can be
     * interrupted.  To open a pipe uses it up, so that waits until it is wanted: a reader may be
     * taken elsewhere first. */
    feed->wait_until_ns = clock_ns() + BEGIN_WAIT_NS;
    if (code == SHEAF_OK && d->pipes == NULL)
        (void)feed_pump(feed, &ahead);
    feed->wait_until_ns = 0;
    return code;
}
