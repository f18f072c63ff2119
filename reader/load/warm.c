/* SPDX-License-Identifier: MIT
 *
 * The queue of a lane whose samples stay in their files until they are drawn. (A lane is one of the
 * equal sequences of an epoch.) The shuffle buffer has only the numbers of samples. Shortly before
 * drawn samples are returned, one read brings several of them into memory.
 *
 * To warm a file means to read a part of it into the kernel's cache. Each file is warmed from its
 * start to its end, before the numbers of its samples enter the shuffle buffer. So the reads of
 * drawn samples need not wait for the disk.
 *
 * The numbers take little memory, and the kernel caches the bytes of the samples in any case. Also,
 * the first sample need not wait until a buffer is full of samples.
 *
 * All functions run on the planning thread (the thread that calls the reader), except for the jobs
 * that warm files. */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/load/queue.h"
#include "reader/load/stretch.h"

#define DUE         64u     /* largest number of samples drawn at once */
/* The first DRAWS_COLD samples of a lane (a sequence of samples) are read at once, even if they are
 * not in the kernel's cache yet. Later samples are read only when their part of the file is in the
 * cache. */
#define DRAWS_COLD  32u
#define JOBS        4u      /* number of warming jobs of a lane */
/* Largest number of ranges of bytes that one job reads. In a view (a mix of data sets) there are
 * several ranges, because samples that are not chosen may lie between chosen samples. */
#define RANGES      32u
#define BYTES       ((uint64_t)1 << 20)     /* number of bytes that one warming job reads */
/* Size in bytes of the samples that are warmed (read into the kernel's cache) before they enter the
 * shuffle buffer. */
#define AHEAD_BYTES ((uint64_t)16 << 20)

/* A job that warms parts of a file, that is, reads them into the kernel's cache. */
struct warming {
    struct job job;
    /* the shard from which the job reads; NULL if the job is not running */
    struct shard *shard;
    struct { uint64_t offset, bytes; } ranges[RANGES];
    unsigned range_count;
    uint64_t bytes;
};

struct warmth {
    /* The next drawn samples, as runs (ranges of records) of one record each. Their shards stay in
     * use until the samples are read. */
    struct run due[DUE];
    size_t first, count;
    uint64_t position;          /* position of due[first] in the sequence */
    struct warming warming[JOBS];
    /* Number of the first sample that is not warmed yet. All samples before it are in the kernel's
     * cache, or a running job reads them into the cache. */
    uint64_t warmed;
    /* Number of samples that are warmed (read into the kernel's cache) before they enter the
     * shuffle buffer. */
    uint64_t ahead;
};

/* Implements queue_ops.begin. */
static int begin_drawn(struct loader *l, struct queue *q, uint32_t lane, struct sheaf_error *err)
{
    const struct sheaf_dataset *d = l->dataset;
    const struct shuffle *s = &q->sequence->shuffle;
    struct warmth *w = q->warmth = calloc(1, sizeof(*w));

    (void)lane;
    if (w == NULL)
        return err_memory(err, sizeof(*w));
    w->ahead = 1 + AHEAD_BYTES / MAX(d->total_bytes / MAX(dataset_samples(d), 1), 1);
    w->warmed = s->next - MIN(s->next, s->filled);
    return SHEAF_OK;
}

static struct order_run warm_locate(const struct queue *q, uint64_t input)
{
    return order_line_locate(q->line, order_lane_place(&q->sequence->range, input));
}

/* ---- Warming -------------------------------------------------------------------------------- */

static void warm_warm(struct job *job)
{
    struct warming *w = (struct warming *)(void *)job;

    for (unsigned i = 0; i < w->range_count; i++)
        store_warm(w->shard->object, w->ranges[i].offset, w->ranges[i].bytes);
}

/* Adds a range of samples to the job `g`. The range begins with sample number `input` of the lane
 * (a sequence of samples). Returns the number of samples in the range. Returns 0 if the sample is
 * not in the shard of the job, or if the job already has enough ranges or bytes. */
static uint64_t warm_add_range(const struct queue *q, struct warming *g, uint64_t input)
{
    const struct order_run run = warm_locate(q, input);
    const uint64_t most = MIN(run.count, q->sequence->range.count - input);
    const uint64_t *offsets = g->shard->section->offsets + run.record;
    uint64_t count = 1;

    if (run.shard != g->shard->number || g->range_count == RANGES || g->bytes >= BYTES)
        return 0;
    while (count < most && offsets[count] - offsets[0] < BYTES - g->bytes)
        count++;
    g->ranges[g->range_count].offset = offsets[0];
    g->ranges[g->range_count++].bytes = offsets[count] - offsets[0];
    g->bytes += offsets[count] - offsets[0];
    return count;
}

/* Starts a job that reads the next samples into the kernel's cache. Does nothing if their shard is
 * not open yet. */
static void warm_begin(struct loader *l, struct queue *q, struct warming *g)
{
    struct warmth *w = q->warmth;
    const uint64_t last = q->sequence->range.count;
    const struct order_run run = warm_locate(q, w->warmed);
    struct sheaf_error ignored;
    uint64_t count;

    if (q->shard == NULL || q->shard->number != run.shard) {
        shards_drop(&l->shards, q->shard);
        (void)shards_use(&l->shards, run.shard, false, &q->shard, &ignored);
    }
    if (q->shard == NULL || !loader_shard_is_open(l, q->shard))
        return;
    if (q->shard->code != SHEAF_OK) {
        w->warmed += MIN(run.count, last - w->warmed);      /* The draw will report the error. */
        return;
    }
    g->shard = q->shard;
    g->shard->users++;
    g->range_count = 0;
    g->bytes = 0;
    while (w->warmed < last && (count = warm_add_range(q, g, w->warmed)) != 0)
        w->warmed += count;
    g->job.run = warm_warm;
    workers_submit(l->workers, &g->job);
}

/* Starts jobs that read samples into the kernel's cache: the samples that will enter the shuffle
 * buffer next.
 *
 * Returns NULL if all samples that may be drawn now are in the cache. Otherwise returns a job for
 * which the caller should wait. Without this wait, the draws would read the disk at random
 * positions while the jobs read it from start to end. */
static struct job *warm_go_on(struct loader *l, struct queue *q)
{
    struct warmth *w = q->warmth;
    const uint64_t last = q->sequence->range.count, next = q->sequence->shuffle.next;
    struct job *busy = NULL;

    for (unsigned i = 0; i < JOBS; i++) {
        struct warming *g = &w->warming[i];

        if (g->shard != NULL && workers_is_done(l->workers, &g->job)) {
            shards_drop(&l->shards, g->shard);
            g->shard = NULL;
        }
        if (g->shard == NULL && w->warmed < MIN(last, next + w->ahead))
            warm_begin(l, q, g);
        if (g->shard != NULL)
            busy = &g->job;
    }
    if (w->warmed >= MIN(last, next))
        return NULL;
    if (busy == NULL && q->shard != NULL && !loader_shard_is_open(l, q->shard))
        busy = &q->shard->job;
    return busy;
}

/* ---- Draws ---------------------------------------------------------------------------------- */

/* Waits until the samples that may be drawn next are in the kernel's cache. If an earlier read of
 * the queue still has samples, these can be returned meanwhile. In this case, does not wait, and
 * returns SHEAF_END, so that no further read is planned now. */
static int wait_for_warmth(struct loader *l, struct queue *q, struct sheaf_error *err)
{
    struct job *job = warm_go_on(l, q);

    while (job != NULL && q->planned >= DRAWS_COLD) {
        if (q->first != NULL)
            return SHEAF_END;
        if (!workers_wait_or(l->workers, job, true, &l->watch, &l->stall_ns))
            return err_set(err, SHEAF_ERR_INTERRUPTED, "interrupted");
        job = warm_go_on(l, q);
    }
    return SHEAF_OK;
}

/* Loads the index entries of a drawn sample into the CPU's cache, because they are needed soon. The
 * entries of samples that are drawn one after another are scattered over much memory. */
static void fetch_entries(struct loader *l, const struct run *run)
{
    const struct shard *shard = run->shard;

    if (!loader_shard_is_open(l, run->shard) || shard->code != SHEAF_OK)
        return;
    __builtin_prefetch(&shard->section->offsets[run->first]);
    __builtin_prefetch(&shard->section->crcs[run->first]);
    for (size_t i = 0; i < shard->column_count; i++) {
        if (shard->columns[i].offsets == NULL)      /* The column has no records for this shard. */
            continue;
        __builtin_prefetch(&shard->columns[i].offsets[run->first]);
        __builtin_prefetch(&shard->columns[i].crcs[run->first]);
    }
}

/* Finds the records of the next samples that will be drawn, and puts them on the list w->due. The
 * first of them is at the first position that is not planned. Samples before this position are
 * removed from the list, and the list is filled only if it is then empty. Returns an error if the
 * budget has no room for the index section of the first record's shard. */
static int warm_draw(struct loader *l, struct queue *q, struct sheaf_error *err)
{
    struct warmth *w = q->warmth;
    uint64_t position = q->planned;
    int code = SHEAF_OK;

    for (; w->first < w->count && w->position < position; w->position++)
        shards_drop(&l->shards, w->due[w->first++].shard);
    if (w->first < w->count)
        return SHEAF_OK;
    w->first = w->count = 0;
    w->position = position;
    for (; w->count < DUE && position < q->sequence->count; position++) {
        const uint64_t input = sequence_input(q->sequence, position);
        const struct order_run run = warm_locate(q, input);
        struct shard *shard;

        code = shards_use(&l->shards, run.shard, false, &shard, err);
        if (code != SHEAF_OK)
            break;
        w->due[w->count] = (struct run){ .shard = shard, .first = run.record, .count = 1,
                                         .repeats = order_lane_repeats(&q->sequence->range,
                                                                       input) };
        fetch_entries(l, &w->due[w->count++]);
    }
    return w->count != 0 ? SHEAF_OK : code;
}

/* Plans one read for the first records on the list w->due. The first record is always included, and
 * its shard must be open. The read ends before the first record whose shard is not open yet, or
 * with which the read would have more than `most` bytes. */
static struct read_plan plan_due(const struct warmth *w, struct loader *l, uint64_t most)
{
    struct read_plan plan = { .runs = w->due + w->first };
    uint64_t bytes = 0;
    size_t n;

    for (n = 0; n < w->count - w->first; n++) {
        const struct run *run = &plan.runs[n];

        if (n != 0 && (!loader_shard_is_open(l, run->shard) || run->shard->code != SHEAF_OK))
            break;
        bytes += index_frame_bytes(run->shard->section, run->first);
        if (n != 0 && bytes > most)
            break;
    }
    plan.run_count = n;
    return plan;
}

/* Implements queue_ops.plan. */
static int plan_drawn(struct loader *l, struct queue *q, struct sheaf_error *err)
{
    struct warmth *w = q->warmth;
    struct read_plan plan;
    int code = wait_for_warmth(l, q, err);

    if (code == SHEAF_OK)
        code = warm_draw(l, q, err);
    if (code == SHEAF_ERR_LIMIT)
        return QUEUE_NO_SECTION;
    if (code == SHEAF_OK)
        code = loader_open_shard(l, w->due[w->first].shard, err);
    if (code != SHEAF_OK)
        return code;
    plan = plan_due(w, l, stretch_bytes(l, q->planned));
    code = queue_begin_read(l, q, &plan, err);
    if (code == SHEAF_OK) {     /* The read has taken the references to the shards. */
        w->first += plan.run_count;
        w->position += plan.run_count;
    }
    return code;
}

/* ---- The end -------------------------------------------------------------------------------- */

/* Implements queue_ops.end. */
static void end_drawn(struct loader *l, struct queue *q)
{
    struct warmth *w = q->warmth;

    if (w == NULL)
        return;
    for (unsigned i = 0; i < JOBS; i++) {
        if (w->warming[i].shard == NULL)
            continue;
        workers_wait(l->workers, &w->warming[i].job);
        shards_drop(&l->shards, w->warming[i].shard);
    }
    for (size_t i = w->first; i < w->count; i++)
        shards_drop(&l->shards, w->due[i].shard);
    free(w);
}

const struct queue_ops queue_as_drawn = {
    .own_bytes = sizeof(struct warmth), .begin = begin_drawn, .plan = plan_drawn,
    .pump = queue_pump_planned, .take = queue_take_planned, .end = end_drawn,
};
