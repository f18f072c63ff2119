/* SPDX-License-Identifier: MIT
 *
 * How well an epoch is shuffled: it is replayed on numbers, and compared with an ideal shuffle of
 * the same samples.  No data is read; labels come from the index. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/sized.h"
#include "reader/view/labels.h"
#include "reader/reader_options.h"
#include "reader/shuffle.h"

/* Steps within which two samples that were neighbours still count as such. */
#define NEAR_STEPS 100u

struct replay {
    const struct sheaf_dataset *dataset;
    struct order order;
    struct order_line line;
    struct order_lane *lanes;
    struct shuffle *shuffles;
    uint64_t **slots;               /* of each lane: inputs */
};

struct tally {
    struct sheaf_mixing *m;
    uint64_t steps;
    uint8_t *near;                  /* a bit a sample: it came within the last NEAR_STEPS */
    uint64_t recent[NEAR_STEPS];
    uint64_t near_count;
    double distance;
    uint32_t *labels;               /* of each sample, + 1; NULL: not known */
    uint64_t *seen;                 /* by label: the batch (+ 1) it was seen in last */
    uint32_t label_end;
    uint32_t last_label;
    uint64_t runs, run, batch_labels, batches;
};

/* ---- Replay --------------------------------------------------------------------------------- */

static void replay_free(struct replay *r)
{
    for (uint32_t i = 0; r->slots != NULL && i < r->order.lanes; i++)
        free(r->slots[i]);
    free(r->slots);
    free(r->lanes);
    free(r->shuffles);
    order_line_free(&r->line);
}

static int replay_begin(struct replay *r, struct sheaf_error *err)
{
    const struct sheaf_dataset *d = r->dataset;
    const uint32_t lanes = r->order.lanes;
    int code = order_line_make(&r->order, d->samples, d->manifest.shard_count, &r->line, err);

    if (code != SHEAF_OK)
        return code;
    r->lanes = calloc(lanes, sizeof(r->lanes[0]));
    r->shuffles = calloc(lanes, sizeof(r->shuffles[0]));
    r->slots = calloc(lanes, sizeof(r->slots[0]));
    if (r->lanes == NULL || r->shuffles == NULL || r->slots == NULL)
        return err_memory(err, lanes * sizeof(r->lanes[0]));
    for (uint32_t i = 0; i < lanes; i++) {
        r->lanes[i] = order_lane_of(&r->order, dataset_samples(d), i);
        shuffle_begin(&r->shuffles[i], &r->order, i, order_lane_inputs(&r->lanes[i]));
        r->slots[i] = calloc(r->shuffles[i].filled + 1, sizeof(r->slots[i][0]));
        if (r->slots[i] == NULL)
            return err_memory(err, r->shuffles[i].filled * sizeof(r->slots[i][0]));
        shuffle_replay(&r->shuffles[i], 0, r->slots[i]);
    }
    return SHEAF_OK;
}

/* The number of the sample that lane i emits next. */
static uint64_t replay_next(struct replay *r, uint32_t i)
{
    const uint64_t input = shuffle_draw(&r->shuffles[i], r->slots[i]);
    const struct order_run run = order_line_locate(&r->line,
                                                   order_lane_place(&r->lanes[i], input));

    return r->dataset->first_numbers[run.shard] + run.record;
}

/* ---- Tally ---------------------------------------------------------------------------------- */

static bool is_near(const struct tally *t, uint64_t number)
{
    return (t->near[number / 8] >> (number % 8)) & 1;
}

static void count_neighbours(struct tally *t, uint64_t number)
{
    const uint64_t slot = t->steps % NEAR_STEPS;

    if (t->steps >= NEAR_STEPS)
        t->near[t->recent[slot] / 8] &= (uint8_t)~(1u << (t->recent[slot] % 8));
    t->recent[slot] = number;
    t->near_count += number != 0 && is_near(t, number - 1);
    t->near_count += number + 1 < t->m->samples && is_near(t, number + 1);
    t->near[number / 8] |= (uint8_t)(1u << (number % 8));
}

static void count_label(struct tally *t, uint32_t label)
{
    const uint64_t batch = t->steps / SHEAF_MIXING_BATCH + 1;

    if (t->steps == 0 || label != t->last_label) {
        t->runs++;
        t->run = 0;
    }
    t->last_label = label;
    t->run++;
    t->m->longest_label_run = MAX(t->m->longest_label_run, t->run);
    if (batch * SHEAF_MIXING_BATCH <= t->m->samples && t->seen[label] != batch) {
        t->seen[label] = batch;
        t->batch_labels++;
        t->batches = batch;
    }
}

static void count_step(struct tally *t, uint64_t number)
{
    const uint64_t samples = t->m->samples;
    const uint64_t every = samples / SHEAF_MIXING_POINTS + 1;

    t->distance += (double)(t->steps > number ? t->steps - number : number - t->steps);
    count_neighbours(t, number);
    if (t->labels != NULL)
        count_label(t, t->labels[number]);
    if (t->steps % every == 0 && t->m->point_count < SHEAF_MIXING_POINTS) {
        t->m->came[t->m->point_count] = (double)t->steps / (double)samples;
        t->m->lay[t->m->point_count++] = (double)number / (double)samples;
    }
    t->steps++;
}

/* What an ideal shuffle would give: each label's share is all that matters. */
static int ideal_labels(struct tally *t, struct sheaf_error *err)
{
    const double samples = (double)t->m->samples;
    uint64_t *counts = calloc(t->label_end, sizeof(counts[0]));
    double same = 0;

    if (counts == NULL)
        return err_memory(err, t->label_end * sizeof(counts[0]));
    for (uint64_t i = 0; i < t->m->samples; i++)
        counts[t->labels[i]]++;
    for (uint32_t i = 0; i < t->label_end; i++) {
        const double share = (double)counts[i] / samples;

        same += share * share;
        t->m->ideal_batch_labels += 1 - pow(1 - share, SHEAF_MIXING_BATCH);
    }
    t->m->ideal_label_run = same < 1 ? 1 / (1 - same) : samples;
    free(counts);
    return SHEAF_OK;
}

static void finish(struct tally *t)
{
    const double samples = (double)t->m->samples;

    t->m->displacement = t->distance / samples;
    t->m->ideal_displacement = samples / 3;
    t->m->neighbours = (double)t->near_count / samples;
    t->m->ideal_neighbours = MIN(1.0, 2.0 * NEAR_STEPS / samples);
    if (t->labels == NULL)
        return;
    t->m->label_run = samples / (double)t->runs;
    if (t->batches != 0)
        t->m->batch_labels = (double)t->batch_labels / (double)t->batches;
}

/* ---- Labels --------------------------------------------------------------------------------- */

/* Reads the labels of all samples.  Without them (foreign shards, vectors) t->labels stays
 * NULL. */
static int load_labels(struct tally *t, const struct sheaf_dataset *d, struct sheaf_error *err)
{
    uint32_t *labels;
    int code;

    if (!d->has_manifest)
        return SHEAF_OK;
    labels = calloc(dataset_samples(d) + 1, sizeof(labels[0]));
    if (labels == NULL)
        return err_memory(err, dataset_samples(d) * sizeof(labels[0]));
    code = labels_read(d, labels, err);
    if (code != SHEAF_OK) {
        free(labels);
        return code == SHEAF_END ? SHEAF_OK : code;
    }
    for (uint64_t i = 0; i < dataset_samples(d); i++)
        t->label_end = MAX(t->label_end, labels[i] + 1);
    t->labels = labels;
    t->m->has_labels = 1;
    return SHEAF_OK;
}

static int run(struct replay *r, struct tally *t, struct sheaf_error *err)
{
    bool any = true;
    int code = load_labels(t, r->dataset, err);

    if (code == SHEAF_OK && t->labels != NULL) {
        t->seen = calloc(t->label_end, sizeof(t->seen[0]));
        code = t->seen == NULL ? err_memory(err, t->label_end) : ideal_labels(t, err);
    }
    t->near = calloc(t->m->samples / 8 + 1, 1);
    if (code == SHEAF_OK && t->near == NULL)
        code = err_memory(err, t->m->samples / 8);
    while (code == SHEAF_OK && any) {
        any = false;
        for (uint32_t i = 0; i < r->order.lanes; i++) {
            if (r->shuffles[i].filled != 0) {
                any = true;
                count_step(t, replay_next(r, i));
            }
        }
    }
    if (code == SHEAF_OK && t->steps != 0)
        finish(t);
    return code;
}

int sheaf_dataset_mixing(const struct sheaf_dataset *d, const struct sheaf_reader_options *options,
                         struct sheaf_mixing *mixing, size_t sizeof_mixing,
                         struct sheaf_error *err)
{
    struct sheaf_mixing *all = calloc(1, sizeof(*all));
    struct replay replay = { .dataset = d };
    struct tally tally = { .m = all };
    struct order_member member;
    int code;

    if (all == NULL)
        return err_memory(err, sizeof(*all));
    code = reader_options_order(d, options, &replay.order, &member, err);
    if (code == SHEAF_OK && d->view != NULL)
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: the shuffle of a view is not judged: ask "
                       "for its sources", d->url);
    if (code == SHEAF_OK && (d->is_stream || dataset_samples(d) == 0))
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is a stream, whose samples are unknown "
                       "before it is read", d->url);
    all->samples = dataset_samples(d);
    if (code == SHEAF_OK)
        code = replay_begin(&replay, err);
    if (code == SHEAF_OK)
        code = run(&replay, &tally, err);
    if (code == SHEAF_OK) {
        sized_give(mixing, sizeof_mixing, all, sizeof(*all));
    }
    replay_free(&replay);
    free(tally.near);
    free(tally.seen);
    free(tally.labels);
    free(all);
    return code;
}
