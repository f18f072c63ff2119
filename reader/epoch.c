/* SPDX-License-Identifier: MIT
 *
 * Begins and ends an epoch, and takes its samples from the lanes in turn. A lane is one of the
 * equal sequences into which an epoch is divided. */
#include "reader/epoch.h"
#include "reader/epoch_order.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/flag.h"
#include "reader/memory.h"
#include "reader/sum.h"

/* ---- Begin and end -------------------------------------------------------------------------- */

void epoch_release(struct sheaf_reader *r)
{
    for (size_t i = 0; i < r->out_count; i++)
        loader_release(&r->load, &r->out[i].ref);
    r->out_count = 0;
}

void epoch_end(struct sheaf_reader *r)
{
    struct loader *l = &r->load;

    flag_raise(&l->shards.cancelled);
    for (uint32_t i = 0; i < l->queue_count; i++)
        queue_cancel(l, &l->queues[i]);
    loader_cancel(l);
    epoch_release(r);
    for (uint32_t i = 0; i < l->queue_count; i++)
        lane_clear(l, &r->lanes[i]);
    loader_clear(l);
    (void)shards_trim(&l->shards);
    (void)flag_take(&l->shards.cancelled);
    budget_give(&l->budget, r->table_bytes);
    r->table_bytes = l->budget.reserve = 0;
    order_line_free(&l->line);
    if (r->epoch_order->end != NULL)
        r->epoch_order->end(r);
    r->kept_code = SHEAF_OK;
}

/* Reports the damage that was found when the headers of foreign shards (shards without a manifest)
 * were scanned. It is reported at the beginning of each epoch, because the lost samples are missing
 * in each epoch. */
static int report_damages(struct sheaf_reader *r)
{
    int code = SHEAF_OK;

    for (size_t i = 0; code == SHEAF_OK && i < r->dataset->damage_count; i++) {
        const struct damage *damage = &r->dataset->damages[i];

        code = damage->error.code;
        if (code == SHEAF_ERR_CORRUPT || code == SHEAF_ERR_TRUNCATED)
            code = epoch_bad(r, damage->shard, &damage->error);
        else
            r->error = damage->error;   /* The scan stopped at this damage. */
    }
    return code;
}

int epoch_set_lanes(struct sheaf_reader *r)
{
    struct loader *l = &r->load;
    uint32_t lane_count;
    size_t queue_count;
    int code;

    free(r->lanes);
    free(l->queues);
    r->lanes = NULL;
    l->queues = NULL;
    l->lane_count = l->queue_count = 0;
    r->own_lanes = l->order.lanes / (r->member.world_size * r->member.workers);
    code = r->epoch_order->count(r, &lane_count, &queue_count, &r->error);
    if (code != SHEAF_OK)
        return code;
    r->lanes = calloc(queue_count, sizeof(r->lanes[0]));
    l->queues = calloc(queue_count, sizeof(l->queues[0]));
    if (r->lanes == NULL || l->queues == NULL)
        return err_memory(&r->error, queue_count * (sizeof(r->lanes[0]) + sizeof(l->queues[0])));
    l->lane_count = lane_count;
    l->queue_count = (uint32_t)queue_count;
    return r->epoch_order->open != NULL ? r->epoch_order->open(r) : SHEAF_OK;
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

/* Takes a sample from the lane (a sequence of samples) whose turn it is. Sets *ref to the sample,
 * or to the error of a damaged sample. Returns SHEAF_END if all lanes have ended.
 *
 * If only this lane has ended, because it is shorter than others, sets *ref to an empty reference
 * and returns SHEAF_OK. */
static int take_turn(struct sheaf_reader *r, struct ref *ref)
{
    int code;

    *ref = (struct ref){ .item = NULL };
    code = r->epoch_order->next(r, (uint32_t)(r->turns % r->own_lanes), ref);
    if (code == SHEAF_END && !r->epoch_order->has_ended(r))
        code = SHEAF_OK;
    r->turns += code == SHEAF_OK;
    return code;
}

int epoch_next(struct sheaf_reader *r, struct ref *ref)
{
    for (;;) {
        int code = take_turn(r, ref);
        const struct item *item = ref->item;

        if (code != SHEAF_OK)
            return code == SHEAF_END ? sum_check(r) : code;
        if (item != NULL && !item->is_bad)
            return SHEAF_OK;
        if (item != NULL)
            code = epoch_bad(r, item->shard, item->bad);
        else
            r->sum.empty++;
        loader_release(&r->load, ref);
        if (code != SHEAF_OK)
            return code;
    }
}

/* ---- Begin ---------------------------------------------------------------------------------- */

/* Begins to read the first samples of all lanes (sequences of samples).
 *
 * If the data set is remote, reads for the shuffle buffers are begun as well, because they take
 * long. If it is local, these reads begin later, because planning them would delay the first
 * sample. */
static void begin_reading(struct sheaf_reader *r)
{
    struct loader *l = &r->load;
    /* Errors are ignored here. The same error occurs again when the sample is needed, and is
     * returned then. */
    struct sheaf_error ignored;

    for (uint32_t i = 0; i < l->lane_count; i++)
        lane_read_ahead(l, &r->lanes[i], false);
    for (uint32_t i = 0; i < l->lane_count; i++)
        lane_read_ahead(l, &r->lanes[i], true);
    if (!dataset_is_local(r->dataset))
        (void)queue_pump(l, &ignored);
    r->is_reading = true;
}

int epoch_go_on(struct sheaf_reader *r)
{
    int code = SHEAF_OK;

    if (!r->is_reading)
        begin_reading(r);
    while (code == SHEAF_OK && r->turns < r->start_turns) {
        struct ref ref;

        code = take_turn(r, &ref);
        r->sum.read_past += code == SHEAF_OK && ref.item != NULL;
        loader_release(&r->load, &ref);
    }
    return code == SHEAF_END ? sum_check_start(r) : code;
}

int epoch_begin(struct sheaf_reader *r, uint64_t rounds, uint64_t extra)
{
    const struct sheaf_dataset *d = r->dataset;
    const uint64_t start = rounds * r->own_lanes + extra;
    int code;

    r->lane_most = 0;               /* memory_share_out sets it again when the lanes have begun */
    memory_choose(r);
    code = r->epoch_order->begin(r, rounds, extra);
    if (code == SHEAF_OK)
        code = memory_share_out(r);
    if (code != SHEAF_OK)
        return code;
    r->epoch_samples = d->is_stream ? UINT64_MAX : r->epoch_order->samples(r);
    r->turns = d->is_stream ? 0 : start;
    r->start_turns = start;
    r->handed = r->gap_count = 0;
    r->is_reading = false;
    code = report_damages(r);       /* The lost samples are not part of the epoch. */
    sum_begin(r, rounds, extra);
    return code;
}
