/* SPDX-License-Identifier: MIT
 *
 * Finds the steps of an epoch at which given samples are returned; see locate.h. This file is for
 * data sets that are not views (mixes of data sets). locate_view.c is for views. */
#include <stdlib.h>

#include "base/error.h"
#include "reader/locate.h"

struct locating {
    const struct sheaf_dataset *dataset;
    struct comings *comings;
    struct order_line line;
    /* for each shard, by its number: the position of its first sample in `line` (the sequence of
     * all samples before shuffling) */
    uint64_t *starts;
    struct targets targets;
};

/* ---- From numbers to inputs ------------------------------------------------------------------ */

/* Adds the steps at which lanes (sequences of samples) return this sample again as padding. If the
 * lanes of an epoch differ in length, each shorter lane repeats its first sample at its end. If
 * there are more lanes than samples, some lanes have no sample of their own. Such a lane repeats
 * the first sample of another lane. */
static int add_pads(struct locating *x, uint64_t place, uint32_t own, size_t asked,
                    struct sheaf_error *err)
{
    const uint64_t samples = dataset_samples(x->dataset);
    const uint64_t step = samples < x->comings->order.lanes ? samples : x->comings->order.lanes;
    int code = SHEAF_OK;

    for (uint64_t l = own; l < x->comings->order.lanes && code == SHEAF_OK; l += step) {
        const struct order_lane lane = order_lane_of(&x->comings->order, samples, (uint32_t)l);

        if (lane.padded && lane.pad == place)
            code = targets_add(&x->targets, (uint32_t)l, lane.count, asked, err);
    }
    return code;
}

static int locate_add_number(struct locating *x, uint64_t number, size_t asked,
                             struct sheaf_error *err)
{
    const struct sheaf_dataset *d = x->dataset;
    const struct order *order = &x->comings->order;
    const uint64_t samples = dataset_samples(d), places = dataset_places(d, order);
    const uint32_t shard = dataset_shard_of(d, number);
    const uint64_t first = x->starts[shard] + (number - d->first_numbers[shard]);
    int code = SHEAF_OK;

    /* If hosts divide the shards, a host may have too few samples. At the end of its line (the
     * sequence of samples before shuffling), the host then repeats its first samples. So a sample
     * may have several places. */
    for (uint64_t place = first; place < places && code == SHEAF_OK; place += samples) {
        const uint32_t lane = order_lane_at(order, places, place);

        if (lane == order->lanes)
            break;                      /* The epoch leaves out this place. */
        code = targets_add(&x->targets, lane, place - dataset_lane(d, order, lane).start, asked,
                           err);
        if (code == SHEAF_OK && d->hosts == 0)
            code = add_pads(x, place, lane, asked, err);
    }
    return code;
}

static int make_targets(struct locating *x, const uint64_t *numbers, size_t count,
                        struct sheaf_error *err)
{
    int code = SHEAF_OK;

    x->starts = calloc(x->line.shard_count + 1, sizeof(x->starts[0]));
    if (x->starts == NULL)
        return err_memory(err, x->line.shard_count * sizeof(x->starts[0]));
    for (size_t i = 0; i < x->line.shard_count; i++)
        x->starts[x->line.shards[i]] = x->line.starts[i];
    for (size_t i = 0; i < count && code == SHEAF_OK; i++)
        code = locate_add_number(x, numbers[i], i, err);
    targets_sort(&x->targets);
    return code;
}

/* ---- From inputs to steps -------------------------------------------------------------------- */

static int replay_lanes(struct locating *x, struct sheaf_error *err)
{
    struct locate_target *t = x->targets.list, *end = t + x->targets.count;
    int code = SHEAF_OK;

    while (t < end && code == SHEAF_OK) {
        const size_t count = targets_of_lane(t, end);
        const struct order_lane lane = dataset_lane(x->dataset, &x->comings->order, t->lane);
        struct shuffle shuffle;

        shuffle_begin(&shuffle, &x->comings->order, t->lane, order_lane_inputs(&lane));
        code = locate_replay(&shuffle, t, count, UINT64_MAX, err);
        for (size_t i = 0; i < count && code == SHEAF_OK; i++)
            code = comings_add(x->comings, t[i].lane, t[i].step, t[i].asked, err);
        t += count;
    }
    return code;
}

int locate_in_set(const struct sheaf_dataset *d, const uint64_t *numbers, size_t count,
                  struct comings *comings, struct sheaf_error *err)
{
    struct locating x = { .dataset = d, .comings = comings };
    int code = order_line_make(&comings->order, d->samples, d->manifest.shard_count, &x.line, err);

    if (code != SHEAF_OK)
        return code;
    code = make_targets(&x, numbers, count, err);
    if (code == SHEAF_OK)
        code = replay_lanes(&x, err);
    order_line_free(&x.line);
    free(x.starts);
    free(x.targets.list);
    return code;
}
