/* SPDX-License-Identifier: MIT
 *
 * sheaf_dataset_locate: when samples come in an epoch.  The order is followed forward:
 *
 *     number -> place on the line -> lane and input -> step of the lane that emits it -> sample
 *
 * All but one step are arithmetic.  Which step of a lane emits an input depends on the draws before
 * it, so the lane's generator is run from its start; of the shuffle buffer, only the slots that
 * hold what is looked for are followed. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/reader_options.h"
#include "reader/shuffle.h"

/* An input of a lane that is looked for. */
struct target {
    uint32_t lane;
    uint64_t input;
    size_t asked;
};

struct locating {
    const struct sheaf_dataset *dataset;
    struct order order;
    struct order_member member;
    struct order_line line;
    uint64_t *starts;               /* of each shard on the line, by its number */
    struct target *targets;
    size_t target_count, target_capacity;
    struct sheaf_coming *comings;
    size_t coming_count;
};

/* ---- From numbers to inputs ------------------------------------------------------------------ */

static int add_target(struct locating *x, uint32_t lane, uint64_t input, size_t asked,
                      struct sheaf_error *err)
{
    if (x->target_count == x->target_capacity) {
        const size_t capacity = 2 * x->target_capacity + 16;
        struct target *grown = reallocarray(x->targets, capacity, sizeof(*grown));

        if (grown == NULL)
            return err_memory(err, capacity * sizeof(*grown));
        x->targets = grown;
        x->target_capacity = capacity;
    }
    x->targets[x->target_count++] = (struct target){ lane, input, asked };
    return SHEAF_OK;
}

/* Where a lane repeats the place at its end.  Its own first place, if it has any; of an epoch with
 * more lanes than samples, any. */
static int add_pads(struct locating *x, uint64_t place, uint32_t own, size_t asked,
                    struct sheaf_error *err)
{
    const uint64_t samples = dataset_samples(x->dataset);
    const uint64_t step = samples < x->order.lanes ? samples : x->order.lanes;
    int code = SHEAF_OK;

    for (uint64_t l = own; l < x->order.lanes && code == SHEAF_OK; l += step) {
        const struct order_lane lane = order_lane_of(&x->order, samples, (uint32_t)l);

        if (lane.padded && lane.pad == place)
            code = add_target(x, (uint32_t)l, lane.count, asked, err);
    }
    return code;
}

static int add_number(struct locating *x, uint64_t number, size_t asked, struct sheaf_error *err)
{
    const struct sheaf_dataset *d = x->dataset;
    uint32_t shard, lane;
    uint64_t place;
    int code;

    if (number >= dataset_samples(d))
        return err_set(err, SHEAF_ERR_ARGUMENT, "there is no sample %" PRIu64 ": the data set has "
                       "%" PRIu64, number, dataset_samples(d));
    shard = dataset_shard_of(d, number);
    place = x->starts[shard] + (number - d->first_numbers[shard]);
    lane = order_lane_at(&x->order, dataset_samples(d), place);
    if (lane == x->order.lanes)
        return SHEAF_OK;                /* it is dropped */
    code = add_target(x, lane, place - order_lane_of(&x->order, dataset_samples(d), lane).start,
                      asked, err);
    return code == SHEAF_OK ? add_pads(x, place, lane, asked, err) : code;
}

static int by_input(const void *x, const void *y)
{
    const struct target *a = x, *b = y;

    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    return (a->input > b->input) - (a->input < b->input);
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
        code = add_number(x, numbers[i], i, err);
    if (x->target_count != 0)
        qsort(x->targets, x->target_count, sizeof(x->targets[0]), by_input);
    return code;
}

/* ---- From inputs to steps -------------------------------------------------------------------- */

/* The targets of one lane, in the order of their inputs. */
struct replay {
    struct locating *all;
    struct shuffle shuffle;
    uint64_t step;
    const struct target *next, *end;    /* those that are not in the buffer yet */
    const struct target **holders;      /* of each slot; NULL: nothing that is looked for.  Of
                                           equal targets the first one */
    size_t inside;                      /* slots with a holder */
};

/* Notes that the input, all of whose targets follow the first one, is emitted at this step. */
static void emit(struct replay *r, const struct target *first)
{
    const struct order_member *m = &r->all->member;
    const uint32_t lanes = r->all->order.lanes;

    for (const struct target *t = first; t < r->end && t->input == first->input; t++)
        r->all->comings[r->all->coming_count++] = (struct sheaf_coming){
            .asked = t->asked, .sample = r->step * lanes + t->lane,
            .rank = t->lane % m->world_size,
            .ordinal = r->step * (lanes / m->world_size) + t->lane / m->world_size,
        };
}

static const struct target *past(const struct replay *r, const struct target *first)
{
    const struct target *t = first;

    while (t < r->end && t->input == first->input)
        t++;
    return t;
}

static void enter(struct replay *r, uint64_t slot)
{
    r->holders[slot] = r->next;
    r->next = past(r, r->next);
    r->inside++;
}

static void leave(struct replay *r, uint64_t slot)
{
    if (r->holders[slot] == NULL)
        return;
    emit(r, r->holders[slot]);
    r->holders[slot] = NULL;
    r->inside--;
}

static void replay_step(struct replay *r)
{
    const struct shuffle_step step = shuffle_next(&r->shuffle);

    leave(r, step.slot);
    if (!step.refill) {
        r->holders[step.slot] = r->holders[step.last];
        r->holders[step.last] = NULL;
    } else if (r->next < r->end && r->next->input == step.input) {
        enter(r, step.slot);
    }
    r->step++;
}

/* Makes the draws before an input comes in; nothing is followed, and the buffer stays full.  The
 * generator is copied, so that it is in registers: this is nearly all the time of a replay. */
static void skip_to(struct replay *r, uint64_t input)
{
    struct shuffle *s = &r->shuffle;
    const uint64_t steps = input - s->next, filled = s->filled;
    struct rng rng = s->rng;

    for (uint64_t i = 0; i < steps; i++)
        (void)rng_below(&rng, filled);
    s->rng = rng;
    s->next = input;
    r->step += steps;
}

/* Without a buffer inputs are emitted as they come. */
static void emit_in_order(struct replay *r)
{
    for (; r->next < r->end; r->next = past(r, r->next)) {
        r->step = r->next->input;
        emit(r, r->next);
    }
}

static int replay_lane(struct replay *r, struct sheaf_error *err)
{
    const uint64_t filled = r->shuffle.filled;

    if (filled == 1) {
        emit_in_order(r);
        return SHEAF_OK;
    }
    r->holders = calloc(filled, sizeof(r->holders[0]));
    if (r->holders == NULL)
        return err_memory(err, filled * sizeof(r->holders[0]));
    while (r->next < r->end && r->next->input < filled)
        enter(r, r->next->input);
    while (r->inside != 0 || r->next < r->end) {
        if (r->inside == 0)
            skip_to(r, r->next->input);
        replay_step(r);
    }
    free(r->holders);
    return SHEAF_OK;
}

static int by_sample(const void *x, const void *y)
{
    const struct sheaf_coming *a = x, *b = y;

    if (a->sample != b->sample)
        return a->sample < b->sample ? -1 : 1;
    return (a->asked > b->asked) - (a->asked < b->asked);
}

static int replay_lanes(struct locating *x, struct sheaf_error *err)
{
    const struct target *t = x->targets, *end = t + x->target_count;
    int code = SHEAF_OK;

    x->comings = calloc(x->target_count + 1, sizeof(x->comings[0]));
    if (x->comings == NULL)
        return err_memory(err, x->target_count * sizeof(x->comings[0]));
    while (t < end && code == SHEAF_OK) {
        const struct order_lane lane = order_lane_of(&x->order, dataset_samples(x->dataset),
                                                     t->lane);
        struct replay r = { .all = x, .next = t, .end = t };

        while (r.end < end && r.end->lane == t->lane)
            r.end++;
        t = r.end;
        shuffle_begin(&r.shuffle, &x->order, r.next->lane, order_lane_inputs(&lane));
        code = replay_lane(&r, err);
    }
    qsort(x->comings, x->coming_count, sizeof(x->comings[0]), by_sample);
    return code;
}

int sheaf_dataset_locate(const struct sheaf_dataset *d, const struct sheaf_reader_options *options,
                         const uint64_t *numbers, size_t count, sheaf_coming_fn *each,
                         void *context, struct sheaf_error *err)
{
    struct locating x = { .dataset = d };
    int code = reader_options_order(d, options, &x.order, &x.member, err);

    if (code == SHEAF_OK && d->view != NULL)
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: samples are not located in a view", d->url);
    if (code == SHEAF_OK && d->is_stream)
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is read as a stream, in which nothing is "
                       "known of a sample before it comes", d->url);
    if (code == SHEAF_OK)
        code = order_line_make(&x.order, d->samples, d->manifest.shard_count, &x.line, err);
    if (code != SHEAF_OK)
        return code;
    code = make_targets(&x, numbers, count, err);
    if (code == SHEAF_OK)
        code = replay_lanes(&x, err);
    for (size_t i = 0; i < x.coming_count && code == SHEAF_OK; i++)
        each(context, &x.comings[i]);
    order_line_free(&x.line);
    free(x.starts);
    free(x.targets);
    free(x.comings);
    return code;
}
