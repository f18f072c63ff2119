/* SPDX-License-Identifier: MIT
 *
 * Measures how well an epoch is shuffled. The order of the samples is computed as numbers, and
 * compared with an ideal shuffle. No samples are read, and labels are taken from the index.
 *
 * In a view (a mix of data sets), each source is measured separately. The positions and neighbours
 * of a sample are counted among the chosen samples of its source. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/sized.h"
#include "formats/label.h"
#include "reader/dataset/labels.h"
#include "reader/epoch_order.h"
#include "reader/reader_options.h"

/* Largest distance in steps at which two neighbours count as returned close together. (Neighbours
 * are samples with consecutive numbers in the data set. A good shuffle returns them far apart.) */
#define NEAR_STEPS 100u

/* The measures that are computed for one source of the epoch. A data set that is not a view (a mix
 * of data sets) has one source. */
struct mixed {
    /* number of chosen samples in the sources before this source */
    uint64_t first;
    uint64_t samples, drawn;
};

struct mixing_tally {
    struct sheaf_mixing *m;
    uint64_t steps;
    struct mixed *sources;
    size_t source_count;
    /* for each sample: number of times that it was returned in the last NEAR_STEPS steps */
    uint8_t *near;
    uint64_t recent[NEAR_STEPS];
    uint64_t near_count;
    double distance;                /* sum of distances, as parts of an epoch */
    /* label of each sample, plus 1; NULL if the labels are unknown */
    uint32_t *labels;
    /* For each label: 1 + the number of the last batch with a sample of this label, or 0 if no
     * batch had one yet. */
    uint64_t *seen;
    uint64_t *label_counts;
    uint32_t label_end;
    uint32_t last_label;
    uint64_t runs, run, batch_labels, batches;
};

/* ---- Tally ---------------------------------------------------------------------------------- */

static void count_neighbours(struct mixing_tally *t, const struct replayed *drawn)
{
    const struct mixed *source = &t->sources[drawn->source];
    const uint64_t slot = t->steps % NEAR_STEPS, index = source->first + drawn->rank;

    if (t->steps >= NEAR_STEPS)
        t->near[t->recent[slot]]--;
    t->recent[slot] = index;
    t->near_count += drawn->rank != 0 && t->near[index - 1] != 0;
    t->near_count += drawn->rank + 1 < source->samples && t->near[index + 1] != 0;
    t->near[index]++;
}

static void shuffle_quality_count_label(struct mixing_tally *t, uint32_t label)
{
    const uint64_t batch = t->steps / SHEAF_MIXING_BATCH + 1;

    if (t->steps == 0 || label != t->last_label) {
        t->runs++;
        t->run = 0;
    }
    t->last_label = label;
    t->label_counts[label]++;
    t->run++;
    t->m->longest_label_run = MAX(t->m->longest_label_run, t->run);
    if (batch * SHEAF_MIXING_BATCH <= t->m->samples && t->seen[label] != batch) {
        t->seen[label] = batch;
        t->batch_labels++;
        t->batches = batch;
    }
}

static void count_step(struct mixing_tally *t, const struct replayed *drawn)
{
    const struct mixed *source = &t->sources[drawn->source];
    const struct mixed *last = &t->sources[t->source_count - 1];
    const uint64_t every = t->m->samples / SHEAF_MIXING_POINTS + 1;
    const double came = (double)t->steps / (double)t->m->samples;

    t->distance += fabs(came - (double)drawn->rank / (double)source->samples);
    count_neighbours(t, drawn);
    if (t->labels != NULL)
        shuffle_quality_count_label(t, t->labels[drawn->number]);
    if (t->steps % every == 0 && t->m->point_count < SHEAF_MIXING_POINTS) {
        t->m->came[t->m->point_count] = came;
        t->m->lay[t->m->point_count++] = (double)(source->first + drawn->rank)
                                         / (double)(last->first + last->samples);
    }
    t->sources[drawn->source].drawn++;
    t->steps++;
}

/* Computes the values that the measures for labels would have in an ideal shuffle. These values
 * depend only on how often each label occurs. */
static void ideal_labels(struct mixing_tally *t)
{
    double same = 0;

    for (uint32_t i = 0; i < t->label_end; i++) {
        const double share = (double)t->label_counts[i] / (double)t->steps;

        same += share * share;
        t->m->ideal_batch_labels += 1 - pow(1 - share, SHEAF_MIXING_BATCH);
    }
    t->m->ideal_label_run = same < 1 ? 1 / (1 - same) : (double)t->steps;
}

/* Returns the value that a measure would have in an ideal shuffle. The neighbours of a sample are
 * the samples with the previous and the next number. For each returned sample, the measure counts
 * the neighbours that were returned within the NEAR_STEPS steps before the sample. The measure is
 * the mean of these counts. If each sample is returned once, a pair of neighbours is counted once:
 * when the second of them is returned. */
static double ideal_neighbours(const struct mixing_tally *t)
{
    double sum = 0;

    for (size_t i = 0; i < t->source_count; i++) {
        const struct mixed *source = &t->sources[i];
        const double passes = (double)source->drawn / (double)source->samples;
        const double chance = MIN(NEAR_STEPS * MAX(passes, 1.0) / (double)t->steps, 1.0);
        /* number of pairs of neighbours for each sample */
        const double pairs = 1 - 1 / (double)source->samples;

        sum += pairs * (double)source->drawn / (double)t->steps
               * (passes > 1 ? 2 * chance : passes * chance * (2 - chance));
    }
    return sum;
}

static void shuffle_quality_finish(struct mixing_tally *t)
{
    const double samples = (double)t->m->samples;

    t->m->displacement = t->distance / (double)t->steps * samples;
    t->m->ideal_displacement = samples / 3;
    t->m->neighbours = (double)t->near_count / (double)t->steps;
    t->m->ideal_neighbours = ideal_neighbours(t);
    if (t->labels == NULL)
        return;
    ideal_labels(t);
    t->m->label_run = (double)t->steps / (double)t->runs;
    if (t->batches != 0)
        t->m->batch_labels = (double)t->batch_labels / (double)t->batches;
}

/* ---- Labels --------------------------------------------------------------------------------- */

/* Reads the labels of all samples. Leaves t->labels NULL if the index has no labels, for example
 * because the shards have no manifest. Also leaves it NULL if the labels are not classes but other
 * values, such as the targets of a regression. */
static int load_labels(struct mixing_tally *t, const struct sheaf_dataset *d,
                       struct sheaf_error *err)
{
    uint32_t *labels, largest = 0;
    int code;

    if (!d->has_manifest)
        return SHEAF_OK;
    labels = calloc(dataset_samples(d) + 1, sizeof(labels[0]));
    if (labels == NULL)
        return err_memory(err, dataset_samples(d) * sizeof(labels[0]));
    code = labels_read(d, labels, err);
    for (uint64_t i = 0; code == SHEAF_OK && i < dataset_samples(d); i++)
        largest = MAX(largest, labels[i]);
    if (code != SHEAF_OK || largest > CLASS_LIMIT) {
        free(labels);
        return code == SHEAF_END ? SHEAF_OK : code;
    }
    t->label_end = largest + 1;
    t->labels = labels;
    t->m->has_labels = 1;
    return SHEAF_OK;
}

/* ---- The whole ------------------------------------------------------------------------------ */

static int begin_tally(struct mixing_tally *t, const struct sheaf_dataset *d,
                       const struct order_replay *replay, struct sheaf_error *err)
{
    uint64_t first = 0;
    int code;

    t->m->samples = replay->samples;
    t->source_count = replay->source_count;
    t->sources = calloc(t->source_count, sizeof(t->sources[0]));
    if (t->sources == NULL)
        return err_memory(err, t->source_count * sizeof(t->sources[0]));
    for (size_t i = 0; i < t->source_count; i++) {
        t->sources[i] = (struct mixed){ first, replay->chosen(replay, i), 0 };
        first += t->sources[i].samples;
    }
    t->near = calloc(first + 1, 1);
    code = t->near == NULL ? err_memory(err, first) : load_labels(t, d, err);
    if (code != SHEAF_OK || t->labels == NULL)
        return code;
    t->seen = calloc(t->label_end, sizeof(t->seen[0]));
    t->label_counts = calloc(t->label_end, sizeof(t->label_counts[0]));
    return t->seen != NULL && t->label_counts != NULL ? SHEAF_OK : err_memory(err, t->label_end);
}

static int shuffle_quality_run(struct order_replay *r, uint32_t lanes, struct mixing_tally *t,
                               struct sheaf_error *err)
{
    bool any = true;
    int code = SHEAF_OK;

    while (code == SHEAF_OK && any) {
        any = false;
        for (uint32_t i = 0; i < lanes && code == SHEAF_OK; i++) {
            struct replayed drawn;

            code = r->next(r, i, &drawn, err);
            if (code == SHEAF_OK) {
                any = true;
                if (!drawn.comes_again)
                    count_step(t, &drawn);
            }
            code = code == SHEAF_END ? SHEAF_OK : code;
        }
    }
    if (code == SHEAF_OK && t->steps != 0)
        shuffle_quality_finish(t);
    return code;
}

int sheaf_dataset_mixing(const struct sheaf_dataset *d, const struct sheaf_reader_options *options,
                         struct sheaf_mixing *mixing, size_t sizeof_mixing,
                         struct sheaf_error *err)
{
    struct sheaf_mixing *all = calloc(1, sizeof(*all));
    struct order_replay *replay = NULL;
    struct mixing_tally tally = { .m = all };
    struct order_member member;
    struct order order;
    int code;

    if (all == NULL)
        return err_memory(err, sizeof(*all));
    code = reader_options_order(d, options, &order, &member, err);
    if (code == SHEAF_OK && (d->is_stream || dataset_samples(d) == 0))
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is a stream, whose samples are unknown "
                       "before it is read", d->url);
    if (code == SHEAF_OK)
        code = epoch_order_of(d)->replay(d, &order, &replay, err);
    if (code == SHEAF_OK)
        code = begin_tally(&tally, d, replay, err);
    if (code == SHEAF_OK)
        code = shuffle_quality_run(replay, order.lanes, &tally, err);
    if (code == SHEAF_OK)
        sized_give(mixing, sizeof_mixing, all, sizeof(*all));
    if (replay != NULL)
        replay->free(replay);
    free(tally.near);
    free(tally.sources);
    free(tally.seen);
    free(tally.label_counts);
    free(tally.labels);
    free(all);
    return code;
}
