/* SPDX-License-Identifier: MIT
 *
 * Plans the reads of the lanes, and returns their samples; see queue.h. A lane is one of the equal
 * sequences into which an epoch is divided. */
#include "reader/load/queue.h"

#include <string.h>

#include "base/flag.h"

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
    struct read *r;
    const int code = loader_begin(l, plan, LOADER_AHEAD, &r, err);

    if (code != SHEAF_OK)
        return code;
    queue_append(l, q, r);
    q->planned += r->span;
    return SHEAF_OK;
}

/* ---- What is needed ------------------------------------------------------------------------- */

/* Compares two queues by the first sample of each queue that is not planned yet. Returns true if
 * queue `a` will need its sample sooner than queue `b`. (A sample is planned if a read for it was
 * begun, or if it will be read when it is drawn.) */
static bool is_behind(const struct queue *a, const struct queue *b)
{
    return (double)(a->before + a->planned) * b->pace < (double)(b->before + b->planned) * a->pace;
}

/* Considers the queues that have an open shard, except for the queue `but` and for queues that read
 * samples when they are drawn. Returns the queue that will need its next unplanned sample later
 * than the others. Returns NULL if no queue is considered. */
static struct queue *furthest(struct loader *l, const struct queue *but)
{
    struct queue *found = NULL;

    for (uint32_t i = 0; i < l->queue_count; i++) {
        struct queue *q = &l->queues[i];

        if (q != but && q->warmth == NULL && q->shard != NULL && loader_shard_is_open(l, q->shard)
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
    while (!loader_has(l, r) && !queue_is_late(l, r) && !flag_is_raised(l->watch.interrupt))
        (void)workers_wait_for(r->workers, &r->work->job, LOOK_NS);
    l->stall_ns += clock_ns() - start;
    if (!loader_has(l, r) && queue_is_late(l, r))
        return SHEAF_OK;
    return loader_wait(l, r, err);
}

/* Returns the read that brings the next sample of the queue. Returns NULL if no read has been begun
 * for the sample. */
static struct read *next_read(const struct queue *q)
{
    return q->first != NULL && q->first->at <= q->taken ? q->first : NULL;
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
    if (code != SHEAF_OK || next_read(q) == NULL)
        return code;
    return waits || loader_has(l, q->first) ? queue_wait_for(l, q->first, err) : QUEUE_LATER;
}

int queue_take_planned(struct loader *l, struct queue *q, bool waits, struct ref *ref,
                       struct sheaf_error *err)
{
    struct sheaf_error later;
    struct read *r;
    struct item *item;
    int code;

    if (q->taken == q->sequence->count)
        return SHEAF_END;
    code = find_next(l, q, waits, err);
    if (code != SHEAF_OK)
        return code;
    r = next_read(q);
    item = r == NULL ? NULL : read_item(r, r->taken);
    if (item == NULL) {
        *ref = (struct ref){ .input = sequence_input(q->sequence, q->taken) };
    } else {
        *ref = (struct ref){ .item = item };
        if (r->table != NULL || !r->has_landed) {
            ref->read = r;
            r->users++;
        }
    }
    q->taken++;
    if (r != NULL && ++r->taken == r->span) {
        /* An error of queue_pump is ignored here. The sample with the error is needed later. The
         * same error then occurs again and is returned. */
        queue_remove_first(l, q);
        (void)queue_pump(l, &later);
    }
    return SHEAF_OK;
}
