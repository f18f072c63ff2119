/* SPDX-License-Identifier: MIT
 *
 * An epoch: its lanes, and the turn that they take. */
#include "reader/epoch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/flag.h"
#include "reader/view/view.h"
#include "reader/lazy_shuffle.h"
#include "reader/memory.h"
#include "reader/view/mixing.h"
#include "reader/sum.h"

/* How long the beginning of an epoch waits for shards to be opened. */
#define BEGIN_WAIT_NS      UINT64_C(200000000)

/* ---- Begin and end -------------------------------------------------------------------------- */

void epoch_release(struct sheaf_reader *r)
{
    for (size_t i = 0; i < r->out_count; i++)
        item_free(&r->out[i], r->feed.frames);
    r->out_count = 0;
    feed_release(&r->feed);
}

void epoch_end(struct sheaf_reader *r)
{
    struct feed *feed = &r->feed;

    flag_raise(&feed->shards.cancelled);
    for (uint32_t i = 0; i < feed->prefetch_count; i++) {
        prefetch_cancel(&feed->prefetches[i]);
        lane_cancel(&r->lanes[i]);
    }
    workers_cancel(feed->workers);
    for (uint32_t i = 0; i < feed->prefetch_count; i++)
        prefetch_wait(&feed->prefetches[i]);
    epoch_release(r);
    for (uint32_t i = 0; i < feed->prefetch_count; i++) {
        prefetch_clear(feed, &feed->prefetches[i]);
        lane_clear(feed, &r->lanes[i]);
    }
    (void)flag_take(&feed->shards.cancelled);
    budget_give(&feed->budget, r->table_bytes);
    r->table_bytes = feed->budget.reserve = 0;
    order_line_free(&feed->line);
    mixing_end(r);
    r->kept_code = SHEAF_OK;
}

/* Damage that was found when foreign shards were scanned: in every epoch, or not at all. */
static int report_damages(struct sheaf_reader *r)
{
    int code = SHEAF_OK;

    for (size_t i = 0; code == SHEAF_OK && i < r->dataset->damage_count; i++) {
        const struct damage *damage = &r->dataset->damages[i];

        code = damage->error.code;
        if (code == SHEAF_ERR_CORRUPT || code == SHEAF_ERR_TRUNCATED)
            code = epoch_bad(r, damage->shard, &damage->error);
        else
            r->error = damage->error;   /* what lies behind it was not looked at */
    }
    return code;
}

int epoch_set_lanes(struct sheaf_reader *r, uint32_t lanes)
{
    struct feed *feed = &r->feed;
    uint32_t own;
    size_t count;

    free(r->lanes);
    free(feed->prefetches);
    feed->lane_count = feed->prefetch_count = 0;
    r->own_lanes = own = lanes / (r->member.world_size * r->member.workers);
    if (r->dataset->view != NULL
        && __builtin_mul_overflow(own, (uint32_t)r->dataset->source_count, &own))
        return err_set(&r->error, SHEAF_ERR_LIMIT, "%u lanes of %zu sources are too many",
                       r->own_lanes, r->dataset->source_count);
    count = r->dataset->view != NULL && !dataset_is_local(r->dataset) ? 2 * (size_t)own : own;
    r->lanes = calloc(count, sizeof(r->lanes[0]));
    feed->prefetches = calloc(count, sizeof(feed->prefetches[0]));
    if (r->lanes == NULL || feed->prefetches == NULL || count > UINT32_MAX)
        return err_memory(&r->error, count * (sizeof(r->lanes[0]) + sizeof(feed->prefetches[0])));
    feed->lane_count = own;
    feed->prefetch_count = (uint32_t)count;
    return r->dataset->view != NULL ? mixing_open(r) : SHEAF_OK;
}

static int begin_lanes(struct sheaf_reader *r, uint64_t rounds, uint64_t extra)
{
    struct feed *feed = &r->feed;

    for (uint32_t i = 0; i < feed->lane_count; i++) {
        const struct lane_course course = lane_course_of(feed, order_member_lane(&r->member, i));
        const int code = lane_begin(feed, &r->lanes[i], &feed->prefetches[i], &course,
                                    rounds + (i < extra ? 1 : 0), &r->error);

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
        r->options.report(r->options.report_context, dataset_shown(r->dataset, shard), bad);
    return SHEAF_OK;
}

static bool all_have_ended(const struct sheaf_reader *r)
{
    if (r->mixing != NULL)
        return mixing_has_ended(r->mixing);
    for (uint32_t i = 0; i < r->feed.lane_count; i++)
        if (!lane_has_ended(&r->lanes[i]))
            return false;
    return true;
}

/* One turn of one lane.  SHEAF_OK with an item that has data or is bad, or with an empty one: the
 * lane has ended; SHEAF_END: all have. */
static int take_turn(struct sheaf_reader *r, struct item *item)
{
    int code;

    memset(item, 0, sizeof(*item));
    if (r->mixing != NULL)
        code = mixing_turn(r, (uint32_t)(r->turns % r->own_lanes), item);
    else
        code = lane_next(&r->feed, &r->lanes[r->turns % r->own_lanes], item, &r->error);
    if (code == SHEAF_END && !all_have_ended(r))
        code = SHEAF_OK;
    r->turns += code == SHEAF_OK;
    return code;
}

int epoch_next(struct sheaf_reader *r, struct item *item)
{
    for (;;) {
        int code;

        if (r->out_count == 0)
            feed_release(&r->feed);     /* nothing that was read is with the caller */
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
    const uint64_t start = rounds * r->own_lanes + extra;
    struct sheaf_error ahead;
    int code = d->view != NULL ? SHEAF_OK
             : order_line_make(&feed->order, d->samples, d->manifest.shard_count, &feed->line,
                               &r->error);

    r->foresees = false;            /* memory_share_out says so anew, when there are lanes */
    feed->shards.keep_lines = draws_are_possible(d, &feed->order, r->own_lanes);
    feed->draws = feed->shards.keep_lines && memory_has_room_for_draws(r);
    feed->shards.keep_lines = feed->draws;
    feed->own_frames = order_buffer_slots(&feed->order) > 1 && !feed->draws;
    if (code == SHEAF_OK)
        code = d->view != NULL ? mixing_begin(r, rounds, extra) : begin_lanes(r, rounds, extra);
    if (code == SHEAF_OK)
        code = memory_share_out(r);
    if (code != SHEAF_OK)
        return code;
    r->epoch_samples = d->is_stream ? UINT64_MAX
                     : d->view != NULL
                     ? mix_member_samples(&d->view->mix, &feed->order, &r->member)
                     : order_member_samples(&feed->order, &r->member,
                                            dataset_places(d, &feed->order));
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
        (void)prefetch_pump(feed, &ahead);
    feed->wait_until_ns = 0;
    return code;
}
