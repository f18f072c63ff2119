/* SPDX-License-Identifier: MIT
 *
 * Chooses the samples that stay in memory; see horizon.h. */
#include "reader/load/horizon.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"

#define SLOTS_LEAST 8u          /* smallest shuffle buffer that is worth foresight */
/* When only 1 / DUE_PART of the steps (draws) before FAR are left, FAR is set to a later step. */
#define DUE_PART    4u
#define SHARE_MOST  512u        /* largest number of records in one read */

/* A sample that should be read. */
struct wanted {
    uint32_t drawn, slot;
    uint32_t shard;
    uint64_t record;
};

uint64_t horizon_bytes(uint64_t slots)
{
    return slots < SLOTS_LEAST ? 0 : foresight_bytes(slots) + slots * sizeof(struct wanted);
}

static int compare_steps(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static void set_far(struct horizon *h, uint32_t far)
{
    const uint32_t now = h->foresight.now;

    h->far = MAX(far, now);
    h->due = now + MAX((h->far - now) / DUE_PART * (DUE_PART - 1), 1);
}

int horizon_open(struct horizon *h, const struct shuffle *shuffle, uint64_t most,
                 struct sheaf_error *err)
{
    const uint64_t slots = shuffle->filled;
    uint32_t *steps;
    int code;

    if (slots < SLOTS_LEAST || !foresight_is_possible(shuffle))
        return SHEAF_OK;
    steps = malloc(slots * sizeof(steps[0]));
    code = steps == NULL ? err_memory(err, slots * sizeof(steps[0]))
                         : foresight_open(&h->foresight, shuffle, err);
    if (code == SHEAF_OK) {
        for (uint64_t i = 0; i < slots; i++)
            steps[i] = h->foresight.drawn[i];
        qsort(steps, slots, sizeof(steps[0]), compare_steps);
        h->most = most;
        set_far(h, most < slots ? MIN(steps[most], h->foresight.seen) : h->foresight.seen);
    }
    free(steps);
    return code;
}

/* ---- What is wanted ------------------------------------------------------------------------- */

/* Returns the number of the draw (step) after which a sample is put into the shuffle buffer.
 * `position` is its position in the lane, a sequence of samples. The result is 0 if the sample is
 * in the buffer at the start. */
static uint64_t comes_at(const struct queue *q, uint64_t position)
{
    return position < q->sequence->fill ? 0 : position - q->sequence->fill + 1;
}

bool horizon_knows(const struct queue *q, uint64_t position)
{
    return comes_at(q, position) <= q->horizon->foresight.seen;
}

bool horizon_wants(const struct queue *q, uint64_t position)
{
    const struct foresight *f = &q->horizon->foresight;
    const uint32_t drawn = position < q->sequence->fill
                         ? f->drawn[sequence_slot(q->sequence, position)]
                         : f->coming[comes_at(q, position) % f->span];

    return drawn <= q->horizon->far;
}

/* ---- Going on ------------------------------------------------------------------------------- */

static int compare_drawn(const void *a, const void *b)
{
    const uint32_t x = ((const struct wanted *)a)->drawn, y = ((const struct wanted *)b)->drawn;

    return x < y ? -1 : x > y;
}

static int compare_places(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;

    if (x->shard != y->shard)
        return x->shard < y->shard ? -1 : 1;
    return x->record < y->record ? -1 : x->record > y->record;
}

/* Makes a list of the samples of which the shuffle buffer has only the numbers, and for which it is
 * already known at which step they will be drawn. The list is in the order of these steps. Sets
 * *held to the number of samples of the buffer that are in memory. */
static size_t list_wanted(const struct queue *q, struct wanted *list, size_t *held)
{
    const struct horizon *h = q->horizon;
    const struct foresight *f = &h->foresight;
    const struct order_lane *range = &q->sequence->range;
    size_t count = 0;

    *held = 0;
    for (uint64_t i = 0; i < h->slot_count; i++) {
        const struct ref *ref = &h->slots[i];
        const uint32_t drawn = f->drawn[i];
        struct order_run run;

        *held += ref->item != NULL;
        if (ref->item != NULL || ref->input == REF_EMPTY || drawn == FORESIGHT_LATER
            || drawn <= f->now || order_lane_repeats(range, ref->input))
            continue;
        run = order_line_locate(q->line, order_lane_place(range, ref->input));
        list[count++] = (struct wanted){ drawn, (uint32_t)i, run.shard, run.record };
    }
    qsort(list, count, sizeof(list[0]), compare_drawn);
    return count;
}

/* Begins a read. If there is not enough memory, waits until an earlier read has finished and its
 * memory is free. */
static int begin_read(struct loader *l, const struct read_plan *plan, struct read **read)
{
    struct sheaf_error ignored;
    struct read *busy;
    int code;

    while ((code = loader_begin(l, plan, LOADER_SOON, read, &ignored)) == SHEAF_END) {
        for (busy = l->reads; busy != NULL && busy->has_landed; busy = busy->older)
            continue;
        if (busy == NULL || loader_wait(l, busy, &ignored) != SHEAF_OK)
            return SHEAF_END;
    }
    return code;
}

/* Reads the first samples of `list` with one read, up to the first sample that is in another codec
 * block. Returns the number of these samples, even if there is not enough memory for the read. In
 * that case, the shuffle buffer keeps only the numbers of the samples, and each sample is read when
 * it is drawn. */
static size_t horizon_read_block(struct loader *l, struct horizon *h, struct shard *shard,
                                 const struct wanted *list, size_t count)
{
    struct run runs[SHARE_MOST];
    struct read_plan plan = { .runs = runs, .apart = true,
                              .step_bytes = l->step_bytes[shard->object->is_remote] };
    struct read *read;
    size_t n;

    for (n = 0; n < MIN(count, SHARE_MOST); n++) {
        const struct run all = { .shard = shard, .first = list[0].record,
                                 .count = (size_t)(list[n].record - list[0].record) + 1 };

        if (!extent_is_in_block(&all))
            break;
        runs[n] = (struct run){ .shard = shard, .first = list[n].record, .count = 1,
                                .joins = n != 0 };
    }
    plan.run_count = n;
    if (n == 0)
        return 1;
    if (begin_read(l, &plan, &read) != SHEAF_OK)
        return n;
    shard->users += (unsigned)n;
    for (size_t i = 0; i < n; i++) {
        h->slots[list[i].slot] = (struct ref){ .item = read->each[i], .read = read };
        read->users++;
    }
    read->taken = read->span;
    loader_leave(l, read);
    return n;
}

/* Reads the first samples of `list`, up to the first sample that is in another shard. Returns the
 * number of these samples, even if they could not be read. */
static size_t horizon_read_shard(struct loader *l, struct horizon *h, const struct wanted *list,
                                 size_t count)
{
    struct sheaf_error ignored;
    struct shard *shard;
    size_t n = 0, done = 0;

    while (n < count && list[n].shard == list[0].shard)
        n++;
    if (shards_use(&l->shards, list[0].shard, false, &shard, &ignored) != SHEAF_OK)
        return n;
    if (loader_open_shard(l, shard, &ignored) == SHEAF_OK)
        while (done < n)
            done += horizon_read_block(l, h, shard, list + done, n - done);
    shards_drop(&l->shards, shard);
    return n;
}

void horizon_go_on(struct loader *l, struct queue *q)
{
    struct horizon *h = q->horizon;
    struct wanted *list;
    size_t count, held, n;

    if (h->foresight.now < h->due)
        return;
    list = malloc(h->slot_count * sizeof(list[0]));
    if (list == NULL)
        return;
    count = list_wanted(q, list, &held);
    n = MIN(count, (size_t)(h->most - MIN(held, h->most)));
    set_far(h, n == 0 ? h->far : n < count ? list[n].drawn - 1 : h->foresight.seen);
    qsort(list, n, sizeof(list[0]), compare_places);
    for (size_t i = 0; i < n;)
        i += horizon_read_shard(l, h, list + i, n - i);
    free(list);
}
