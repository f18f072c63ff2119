/* SPDX-License-Identifier: MIT
 *
 * Reads samples that stay in their files until they are drawn from the shuffle buffer; see
 * warm.h. */
#include "reader/load/warm.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"

#define DUE         64u     /* largest number of samples drawn at once */
#define JOBS        4u      /* number of warming jobs of a lane */
/* largest number of byte ranges that one job reads; there are several in a view, where samples that
 * are not wanted may lie between wanted samples */
#define RANGES      32u
/* Number of bytes that one job reads into the kernel's cache, and number of bytes for which this is
 * done ahead of the shuffle buffer. */
#define BYTES       ((uint64_t)1 << 20)
#define AHEAD_BYTES ((uint64_t)16 << 20)

/* A job that reads parts of a file into the kernel's cache. */
struct warming {
    struct job job;
    /* the shard from which a job reads now; NULL if no job is running */
    struct shard *shard;
    struct { uint64_t offset, bytes; } ranges[RANGES];
    unsigned range_count;
    uint64_t bytes;
};

struct warmth {
    struct shards *shards;
    const struct order_line *line;
    struct sequence *sequence;
    struct run due[DUE];            /* of one record each; their shards are in use */
    bool repeats[DUE];
    size_t first, count;
    struct warming warming[JOBS];
    /* the shard that is read into the kernel's cache next, and stays open for this; NULL if
     * there is none yet */
    struct shard *shard;
    uint64_t warmed;                /* inputs before this were warmed, or soon will be */
    /* number of samples of the lane that are read into the kernel's cache before they enter the
     * shuffle buffer */
    uint64_t ahead;
};

int warmth_open(struct warmth **result, struct loader *l, const struct order_line *line,
                struct sequence *sequence, struct sheaf_error *err)
{
    const struct sheaf_dataset *d = l->dataset;
    struct warmth *w = calloc(1, sizeof(*w));

    *result = w;
    if (w == NULL)
        return err_memory(err, sizeof(*w));
    w->shards = &l->shards;
    w->line = line;
    w->sequence = sequence;
    w->ahead = 1 + AHEAD_BYTES / MAX(d->total_bytes / MAX(dataset_samples(d), 1), 1);
    return SHEAF_OK;
}

void warmth_begin(struct warmth *w)
{
    const struct shuffle *s = &w->sequence->shuffle;

    w->warmed = s->next - MIN(s->next, s->filled);
}

static struct order_run locate(const struct warmth *w, uint64_t input)
{
    return order_line_locate(w->line, order_lane_place(&w->sequence->range, input));
}

/* ---- Warming -------------------------------------------------------------------------------- */

static void warm(struct job *job)
{
    struct warming *w = (struct warming *)(void *)job;

    for (unsigned i = 0; i < w->range_count; i++)
        store_warm(w->shard->object, w->ranges[i].offset, w->ranges[i].bytes);
}

/* Adds a range of the lane's samples, beginning with number `input`, to a job. Returns the number
 * of samples added. It is 0 if the samples are in another shard, or if the job has no room for
 * another range. */
static uint64_t add_range(const struct warmth *w, struct warming *g, uint64_t input)
{
    const struct order_run run = locate(w, input);
    const uint64_t most = MIN(run.count, w->sequence->range.count - input);
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

/* Begins to open the shard whose samples are read into the kernel's cache next, and sets w->shard
 * to it. Returns false if the shard is not open yet. */
static bool open_next(struct warmth *w, uint32_t number, struct loader *l)
{
    struct sheaf_error ignored;

    if (w->shard == NULL || w->shard->number != number) {
        shards_drop(w->shards, w->shard);
        w->shard = NULL;
        if (shards_use(w->shards, number, &w->shard, &ignored) != SHEAF_OK)
            w->shard = NULL;
    }
    return w->shard != NULL && loader_shard_is_open(l, w->shard);
}

/* Starts the next job that reads into the kernel's cache, unless its shard is not open yet. */
static void begin(struct warmth *w, struct warming *g, struct loader *l)
{
    const uint64_t last = w->sequence->range.count;
    const struct order_run run = locate(w, w->warmed);
    uint64_t count;

    if (!open_next(w, run.shard, l))
        return;
    if (w->shard->code != SHEAF_OK) {
        w->warmed += MIN(run.count, last - w->warmed);      /* the draw will report the error */
        return;
    }
    g->shard = w->shard;
    g->shard->users++;
    g->range_count = 0;
    g->bytes = 0;
    while (w->warmed < last && (count = add_range(w, g, w->warmed)) != 0)
        w->warmed += count;
    g->job.run = warm;
    workers_submit(l->workers, &g->job);
}

struct job *warmth_go_on(struct warmth *w, struct loader *l)
{
    const uint64_t last = w->sequence->range.count, next = w->sequence->shuffle.next;
    struct job *busy = NULL;

    for (unsigned i = 0; i < JOBS; i++) {
        struct warming *g = &w->warming[i];

        if (g->shard != NULL && workers_is_done(l->workers, &g->job)) {
            shards_drop(w->shards, g->shard);
            g->shard = NULL;
        }
        if (g->shard == NULL && w->warmed < MIN(last, next + w->ahead))
            begin(w, g, l);
        if (g->shard != NULL)
            busy = &g->job;
    }
    if (w->warmed >= MIN(last, next))
        return NULL;
    if (busy == NULL && w->shard != NULL && !loader_shard_is_open(l, w->shard))
        busy = &w->shard->job;
    return busy;
}

/* ---- Draws ---------------------------------------------------------------------------------- */

int warmth_draw(struct warmth *w, struct loader *l, uint64_t position, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (w->first < w->count)
        return SHEAF_OK;
    w->first = w->count = 0;
    for (; w->count < DUE && position < w->sequence->count; position++) {
        const uint64_t input = sequence_input(w->sequence, position);
        const struct order_run run = locate(w, input);
        struct shard *shard;

        code = shards_use(&l->shards, run.shard, &shard, err);
        if (code != SHEAF_OK)
            break;
        w->repeats[w->count] = order_lane_repeats(&w->sequence->range, input);
        w->due[w->count++] = (struct run){ .shard = shard, .first = run.record, .count = 1 };
    }
    return w->count != 0 ? SHEAF_OK : code;
}

const struct run *warmth_due(struct warmth *w, struct read_plan *plan)
{
    plan->runs = w->due + w->first;
    plan->run_count = w->count - w->first;
    plan->repeats = w->repeats[w->first];
    return plan->runs;
}

void warmth_cut(const struct warmth *w, struct loader *l, uint64_t most, struct read_plan *plan)
{
    uint64_t bytes = 0;
    size_t n;

    for (n = 0; n < plan->run_count; n++) {
        const struct run *run = &plan->runs[n];

        if (n != 0 && (!loader_shard_is_open(l, run->shard) || run->shard->code != SHEAF_OK
                       || w->repeats[w->first + n] != plan->repeats))
            break;
        bytes += index_frame_bytes(run->shard->section, run->first);
        if (n != 0 && bytes > most)
            break;
    }
    plan->run_count = n;
}

void warmth_took(struct warmth *w, size_t count)
{
    w->first += count;
}

void warmth_pass(struct warmth *w, struct loader *l)
{
    if (w->first < w->count)
        shards_drop(&l->shards, w->due[w->first++].shard);
}

/* ---- The end -------------------------------------------------------------------------------- */

void warmth_close(struct warmth *w)
{
    if (w == NULL)
        return;
    for (unsigned i = 0; i < JOBS; i++) {
        if (w->warming[i].shard == NULL)
            continue;
        workers_wait(w->shards->workers, &w->warming[i].job);
        shards_drop(w->shards, w->warming[i].shard);
    }
    shards_drop(w->shards, w->shard);
    for (size_t i = w->first; i < w->count; i++)
        shards_drop(w->shards, w->due[i].shard);
    free(w);
}
