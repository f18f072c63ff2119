/* SPDX-License-Identifier: MIT
 *
 * Plans the reads of the lanes, and returns their samples; see queue.h. A lane is one of the equal
 * sequences into which an epoch is divided. */
#include "reader/load/queue.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/flag.h"
#include "reader/load/horizon.h"
#include "reader/load/stretch.h"

/* time in nanoseconds between two checks whether a read is late */
#define LOOK_NS 5000000u

int queue_begin(struct loader *l, struct queue *q, uint32_t lane, const struct order_line *line,
                struct sequence *sequence, struct sheaf_error *err)
{
    memset(q, 0, sizeof(*q));
    q->line = line;
    q->sequence = sequence;
    q->pace = 1;
    return l->queue_ops->begin == NULL ? SHEAF_OK : l->queue_ops->begin(l, q, lane, err);
}

void queue_remove_first(struct loader *l, struct queue *q)
{
    struct read *r = q->first;

    q->first = r->next;
    if (q->first == NULL)
        q->last = NULL;
    l->queued--;
    if (l->window.most != 0 && r->has_landed
        && window_took(&l->window, r->bytes, l->stall_ns, clock_ns()))
        l->queued_most = l->lane_count + l->window.now;
    loader_leave(l, r);
}

void queue_clear(struct loader *l, struct queue *q)
{
    while (q->first != NULL)
        queue_remove_first(l, q);
    if (l->queue_ops->end != NULL)
        l->queue_ops->end(l, q);
    shards_drop(&l->shards, q->shard);
    shards_drop(&l->shards, q->next);
    memset(q, 0, sizeof(*q));
}

void queue_append(struct loader *l, struct queue *q, struct read *r)
{
    r->at = q->planned;
    if (q->first == NULL)
        q->first = r;
    else
        q->last->next = r;
    q->last = r;
    l->queued++;
}

int queue_begin_read(struct loader *l, struct queue *q, const struct read_plan *plan,
                     struct sheaf_error *err)
{
    struct read *r = NULL;
    int code = loader_begin(l, plan, LOADER_AHEAD, &r, err);

    if (code == SHEAF_END) {
        loader_shrink(l);
        code = loader_begin(l, plan, LOADER_AHEAD, &r, err);
    }
    if (code != SHEAF_OK)
        return code;
    queue_append(l, q, r);
    q->planned += r->span;
    return SHEAF_OK;
}

/* ---- In the order of the line --------------------------------------------------------------- */

/* Takes a reference to a shard. Returns QUEUE_NO_SECTION if the memory budget has no room at the
 * moment for the index section of the shard. */
static int use_shard(struct loader *l, uint32_t number, struct shard **shard,
                     struct sheaf_error *err)
{
    const int code = shards_use(&l->shards, number, false, shard, err);

    return code == SHEAF_ERR_LIMIT ? QUEUE_NO_SECTION : code;
}

/* Begins to open the next shard of the lane (a sequence of samples) before its first record is
 * needed. So the lane need not wait for the shard later. If the budget has no room at the moment,
 * does nothing. The shard is then opened when its first record is needed. */
static void queue_open_next(struct loader *l, struct queue *q, uint64_t position)
{
    const uint64_t place = sequence_place(q->sequence, position);
    uint64_t after;
    uint32_t number;
    struct sheaf_error ignored;

    if (q->next != NULL || position < q->sequence->fill)
        return;
    after = order_line_leave(q->line, place);
    if (after - place >= q->sequence->count - position)
        return;
    number = order_line_locate(q->line, after).shard;
    if (number != q->shard->number)
        (void)use_shard(l, number, &q->next, &ignored);
}

/* Sets q->shard to the shard of `run`, and begins to open the shard that comes after it. Returns
 * QUEUE_NO_SECTION if the budget has no room for the index section of the shard at the moment. */
static int enter_shard(struct loader *l, struct queue *q, const struct order_run *run,
                       struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (q->shard == NULL || q->shard->number != run->shard) {
        shards_drop(&l->shards, q->shard);
        q->shard = q->next;
        q->next = NULL;
    }
    /* The shard that was opened in advance may be the wrong one. The last sample of a lane may
     * repeat an earlier sample as padding, and the earlier sample can be in any shard. */
    if (q->shard != NULL && q->shard->number != run->shard) {
        shards_drop(&l->shards, q->shard);
        q->shard = NULL;
    }
    if (q->shard == NULL)
        code = use_shard(l, run->shard, &q->shard, err);
    if (code == SHEAF_OK)
        queue_open_next(l, q, q->planned);
    return code;
}

/* Skips the next positions of the sequence if their samples should not be in memory now. These
 * samples are read when they are drawn. Returns SHEAF_END at the end of the sequence, or if it
 * is not known yet when the next sample will be drawn. */
static int pass_unwanted(struct queue *q)
{
    while (q->horizon != NULL && q->planned < q->sequence->count) {
        if (!horizon_knows(q, q->planned))
            return SHEAF_END;
        if (horizon_wants(q, q->planned))
            break;
        q->planned++;
    }
    return q->planned == q->sequence->count ? SHEAF_END : SHEAF_OK;
}

static int plan_in_order(struct loader *l, struct queue *q, struct sheaf_error *err)
{
    struct stretch t;
    struct order_run found;
    int code = pass_unwanted(q);

    if (code != SHEAF_OK)
        return code;
    found = order_line_locate(q->line, sequence_place(q->sequence, q->planned));
    code = enter_shard(l, q, &found, err);
    if (code == SHEAF_OK && q->is_ahead && !loader_shard_is_open(l, q->shard))
        return SHEAF_END;
    if (code == SHEAF_OK)
        code = loader_open_shard(l, q->shard, err);
    if (code != SHEAF_OK)
        return code;
    if (stretch_is_outsize(l, q->shard->section, found.record)) {
        q->planned++;
        return SHEAF_OK;
    }
    stretch_plan(l, q, &found, &t);
    /* A read in advance begins only if there is memory for two reads of its size. The memory for
     * the second read must be left for samples that are needed at once. */
    if (q->is_ahead && l->keep > 1 && heap_room(l->heap) < 2 * read_needs_of(&t.plan).pieces)
        return SHEAF_END;
    code = queue_begin_read(l, q, &t.plan, err);
    if (code == SHEAF_OK)
        q->shard->users += (unsigned)t.plan.run_count;
    return code;
}

/* ---- What is needed ------------------------------------------------------------------------- */

/* Compares two queues by the first sample of each queue that is not planned yet. Returns true if
 * queue `a` will need its sample sooner than queue `b`. (A sample is planned if a read for it was
 * begun, or if it will be read when it is drawn.) */
static bool is_behind(const struct queue *a, const struct queue *b)
{
    return (double)(a->before + a->planned) * b->pace < (double)(b->before + b->planned) * a->pace;
}

/* Considers the queues that have an open shard, except for the queue `but`. Returns the queue that
 * will need its next unplanned sample later than the others. Returns NULL if no queue is
 * considered. */
static struct queue *furthest(struct loader *l, const struct queue *but)
{
    struct queue *found = NULL;

    for (uint32_t i = 0; i < l->queue_count; i++) {
        struct queue *q = &l->queues[i];

        if (q != but && q->shard != NULL && loader_shard_is_open(l, q->shard)
            && (found == NULL || is_behind(found, q)))
            found = q;
    }
    return found;
}

/* Closes the shard of another lane (a sequence of samples), because memory has no room for the
 * shards of all lanes. The lane of queue `q`, which must return a sample next, can then open its
 * own shard and plan a read of the usual size. Otherwise the lane would open its shard again for
 * each sample. Returns false if no other lane has an open shard. */
static bool give_way(struct loader *l, const struct queue *q)
{
    struct queue *other = furthest(l, q);

    if (other == NULL)
        return false;
    loader_shrink(l);
    shards_drop(&l->shards, other->next);
    shards_drop(&l->shards, other->shard);
    other->shard = other->next = NULL;
    return true;
}

/* Returns true if the result of queue_ops.plan means that there is not enough memory for the read
 * now. */
static bool has_no_room(int code)
{
    return code == SHEAF_END || code == QUEUE_NO_SECTION;
}

/* Plans a read for the lane (a sequence of samples) that must return a sample next. If there is not
 * enough memory, skips the read: the queue then returns only the number of the sample, and the lane
 * reads the sample alone when it is drawn. */
static int plan_needed(struct loader *l, struct queue *q, struct sheaf_error *err)
{
    int code = l->queue_ops->plan(l, q, err);

    while (code == QUEUE_NO_SECTION && give_way(l, q))
        code = l->queue_ops->plan(l, q, err);
    if (!has_no_room(code))
        return code;
    if (q->taken == q->planned)
        q->planned++;
    return SHEAF_OK;
}

/* Returns the queue whose next read is needed first, or NULL if all reads are planned. If `ahead`
 * is false, the queues of a view (a mix of data sets) that read a range in advance are not
 * considered. */
static struct queue *neediest(struct loader *l, bool ahead)
{
    struct queue *found = NULL;

    for (uint32_t i = 0; i < l->queue_count; i++) {
        struct queue *q = &l->queues[i];

        if (q->sequence != NULL && !queue_is_planned(q) && (ahead || !q->is_ahead)
            && (found == NULL || is_behind(q, found)))
            found = q;
    }
    return found;
}

int queue_pump_planned(struct loader *l, struct sheaf_error *err)
{
    bool ahead = true;

    while (l->queued < l->queued_most) {
        struct queue *q = neediest(l, ahead);
        int code;

        if (q == NULL)
            return SHEAF_OK;
        code = l->queue_ops->plan(l, q, err);
        /* This queue only reads in advance, but its read could not be planned: there is too little
         * memory, or its shard is not open yet. No queue that only reads in advance is tried again
         * in this call. */
        if (code != SHEAF_OK && q->is_ahead) {
            ahead = false;
            continue;
        }
        if (has_no_room(code))
            return SHEAF_OK;
        if (code != SHEAF_OK)
            return code;
    }
    return SHEAF_OK;
}

/* ---- Giving out ----------------------------------------------------------------------------- */

/* Returns true if the read is late, that is, if the next read of the queue has already finished. */
static bool queue_is_late(struct loader *l, struct read *r)
{
    return r->next != NULL && loader_has(l, r->next);
}

/* Waits until the read has finished. If the data is remote and the samples go to a shuffle buffer,
 * does not wait for a late read. A read is late if the next read of the queue has finished before
 * it. The samples of a late read are not needed until they are drawn from the buffer. */
static int queue_wait_for(struct loader *l, struct read *r, struct sheaf_error *err)
{
    uint64_t start;

    if (r->has_landed || l->keep <= 1 || !r->is_remote)
        return loader_wait(l, r, err);
    start = clock_ns();
    while (!loader_has(l, r) && !queue_is_late(l, r) && !flag_is_raised(l->interrupt))
        (void)workers_wait_for(r->workers, &r->work->job, LOOK_NS);
    l->stall_ns += clock_ns() - start;
    if (!loader_has(l, r) && queue_is_late(l, r))
        return SHEAF_OK;
    return loader_wait(l, r, err);
}

/* Makes sure that the next sample of the queue is planned. If a read for this sample was begun,
 * waits until the read has finished or is late (the next read has finished before it). If `waits`
 * is false, returns QUEUE_LATER instead of waiting. */
static int find_next(struct loader *l, struct queue *q, bool waits, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (q->first == NULL && q->taken == q->planned) {
        if (!waits)
            return QUEUE_LATER;
        code = queue_pump(l, err);
        if (code == SHEAF_OK && q->first == NULL && q->taken == q->planned)
            code = plan_needed(l, q, err);      /* The other lanes have filled the window. */
    }
    if (code != SHEAF_OK || q->first == NULL || q->first->at > q->taken)
        return code;
    if (waits)
        return queue_wait_for(l, q->first, err);
    if (!loader_has(l, q->first))
        return QUEUE_LATER;
    return loader_wait(l, q->first, err);
}

int queue_take_planned(struct loader *l, struct queue *q, bool waits, struct ref *ref,
                       struct sheaf_error *err)
{
    struct read *r;
    struct item *item;
    int code;

    if (q->taken == q->sequence->count)
        return SHEAF_END;
    code = find_next(l, q, waits, err);
    if (code != SHEAF_OK)
        return code;
    r = q->first;
    item = r == NULL || r->at > q->taken ? NULL : read_item(r, r->taken);
    if (item == NULL) {
        *ref = (struct ref){ .input = sequence_input(q->sequence, q->taken) };
    } else {
        *ref = (struct ref){ .item = item };
        if (r->table != NULL || !r->has_landed) {
            ref->read = r;
            r->users++;
        }
    }
    if (r != NULL && r->at <= q->taken && ++r->taken == r->span) {
        struct sheaf_error later;

        /* An error of queue_pump is ignored here. The sample with the error is needed later. The
         * same error then occurs again and is returned. */
        q->taken++;
        queue_remove_first(l, q);
        (void)queue_pump(l, &later);
        return SHEAF_OK;
    }
    q->taken++;
    return SHEAF_OK;
}

const struct queue_ops queue_in_order = {
    .plan = plan_in_order, .pump = queue_pump_planned, .take = queue_take_planned,
};
