/* SPDX-License-Identifier: MIT
 *
 * The order of an epoch of one data set, which is not a view (a mix of data sets). All samples form
 * one sequence before shuffling, called the line. Each lane (one of the equal sequences of the
 * epoch) has one struct lane and reads one range of the line. */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/epoch_order.h"
#include "reader/locate.h"

static struct order_lane range_of(const struct sheaf_reader *r, uint32_t lane)
{
    return dataset_lane(r->dataset, &r->load.order, order_member_lane(&r->member, lane));
}

/* Counts the lanes (sequences of samples) that have samples. If there are more lanes than samples,
 * the last lanes of the reader are empty, and need no memory. */
static int count_lanes(const struct sheaf_reader *r, uint32_t *lanes, size_t *queues,
                       struct sheaf_error *err)
{
    uint32_t count = r->own_lanes;

    (void)err;
    while (!r->dataset->is_stream && count > 1) {
        const struct order_lane range = range_of(r, count - 1);

        if (order_lane_inputs(&range) != 0)
            break;
        count--;
    }
    *lanes = count;
    *queues = count;
    return SHEAF_OK;
}

static int epoch_order_set_begin_lanes(struct sheaf_reader *r, uint64_t rounds, uint64_t extra)
{
    const struct sheaf_dataset *d = r->dataset;
    struct loader *l = &r->load;
    int code = order_line_make(&l->order, d->samples, d->manifest.shard_count, &l->line,
                               &r->error);

    for (uint32_t i = 0; i < l->lane_count && code == SHEAF_OK; i++) {
        const struct lane_course course = lane_course_of(l, order_member_lane(&r->member, i));

        code = lane_begin(l, &r->lanes[i], &l->queues[i], &course, rounds + (i < extra ? 1 : 0),
                          &r->error);
    }
    return code;
}

static uint64_t tables_of_lanes(const struct sheaf_reader *r)
{
    const struct loader *l = &r->load;
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < l->lane_count; i++) {
        const struct lane *lane = &r->lanes[i];
        const uint64_t slots = MIN(order_buffer_slots(&l->order),
                                   order_lane_inputs(&lane->sequence.range));

        bytes += lane_table_bytes(l, lane, MAX(slots, lane->slot_count));
    }
    return bytes;
}

static int next_of_lane(struct sheaf_reader *r, uint32_t lane, struct ref *ref)
{
    if (lane >= r->load.lane_count)
        return SHEAF_END;           /* The lane is empty. */
    return lane_next(&r->load, &r->lanes[lane], ref, &r->error);
}

static bool lanes_have_ended(const struct sheaf_reader *r)
{
    for (uint32_t i = 0; i < r->load.lane_count; i++)
        if (!lane_has_ended(&r->lanes[i]))
            return false;
    return true;
}

static uint64_t epoch_of_samples(const struct sheaf_reader *r)
{
    return r->load.order.epoch;
}

static uint64_t samples_of_member(const struct sheaf_reader *r)
{
    return order_member_samples(&r->load.order, &r->member,
                                dataset_places(r->dataset, &r->load.order));
}

static uint64_t steps_of_lane(const struct sheaf_reader *r, uint32_t lane)
{
    const struct order_lane range = range_of(r, lane);

    return order_lane_inputs(&range);
}

static uint64_t shards_of_lanes(const struct sheaf_reader *r)
{
    const uint64_t samples = MAX(dataset_samples(r->dataset), 1);
    const uint64_t shards = r->dataset->manifest.shard_count;
    const uint64_t each = MAX(samples / MAX(shards, 1), 1);

    return r->own_lanes *
           MIN(shards, order_buffer_slots(&r->load.order) * LONGEST_STAY / each + 3);
}

static uint64_t rounds_of_line(const struct sheaf_dataset *d, const struct order *order)
{
    const uint64_t samples = dataset_places(d, order), lanes = order->lanes;

    return samples / lanes + (order->remainder != SHEAF_DROP && samples % lanes != 0);
}

static size_t only_stage(const struct sheaf_dataset *d, const struct order *order, uint64_t rounds)
{
    (void)d;
    (void)order;
    (void)rounds;
    return 0;
}

static int only_stage_after(const struct sheaf_dataset *d,
                            const struct sheaf_reader_options *options, uint64_t samples,
                            size_t *stage, struct sheaf_error *err)
{
    (void)d;
    (void)options;
    (void)samples;
    (void)err;
    *stage = 0;
    return SHEAF_OK;
}

static const char *fingerprint_of_set(const struct sheaf_dataset *d, size_t stage)
{
    (void)stage;
    return d->manifest.fingerprint;
}

/* ---- Replay --------------------------------------------------------------------------------- */

struct set_replay {
    struct order_replay base;
    const struct sheaf_dataset *dataset;
    struct order_line line;
    struct order_lane *lanes;
    struct shuffle *shuffles;
    uint64_t **slots;               /* the inputs in the slots of each lane */
    uint32_t lane_count;
};

static void set_replay_free(struct order_replay *base)
{
    struct set_replay *r = (struct set_replay *)(void *)base;

    for (uint32_t i = 0; r->slots != NULL && i < r->lane_count; i++)
        free(r->slots[i]);
    free(r->slots);
    free(r->lanes);
    free(r->shuffles);
    order_line_free(&r->line);
    free(r);
}

static int set_replay_next(struct order_replay *base, uint32_t lane, struct replayed *sample,
                           struct sheaf_error *err)
{
    struct set_replay *r = (struct set_replay *)(void *)base;
    struct order_run run;
    uint64_t place;

    (void)err;
    if (r->shuffles[lane].filled == 0)
        return SHEAF_END;
    place = order_lane_place(&r->lanes[lane], shuffle_draw(&r->shuffles[lane], r->slots[lane]));
    run = order_line_locate(&r->line, place);
    sample->source = 0;
    sample->comes_again = place >= dataset_samples(r->dataset);
    sample->rank = sample->number = r->dataset->first_numbers[run.shard] + run.record;
    return SHEAF_OK;
}

static uint64_t set_replay_chosen(const struct order_replay *base, size_t source)
{
    (void)source;
    return dataset_samples(((const struct set_replay *)(const void *)base)->dataset);
}

static int set_replay_begin_lanes(struct set_replay *r, const struct order *order,
                                  struct sheaf_error *err)
{
    r->lanes = calloc(order->lanes, sizeof(r->lanes[0]));
    r->shuffles = calloc(order->lanes, sizeof(r->shuffles[0]));
    r->slots = calloc(order->lanes, sizeof(r->slots[0]));
    if (r->lanes == NULL || r->shuffles == NULL || r->slots == NULL)
        return err_memory(err, order->lanes * sizeof(r->lanes[0]));
    for (uint32_t i = 0; i < order->lanes; i++) {
        r->lanes[i] = dataset_lane(r->dataset, order, i);
        shuffle_begin(&r->shuffles[i], order, i, order_lane_inputs(&r->lanes[i]));
        r->slots[i] = calloc(r->shuffles[i].filled + 1, sizeof(r->slots[i][0]));
        if (r->slots[i] == NULL)
            return err_memory(err, r->shuffles[i].filled * sizeof(r->slots[i][0]));
        shuffle_replay(&r->shuffles[i], 0, r->slots[i]);
    }
    return SHEAF_OK;
}

static int set_replay_begin(const struct sheaf_dataset *d, const struct order *order,
                            struct order_replay **replay, struct sheaf_error *err)
{
    struct set_replay *r = calloc(1, sizeof(*r));
    int code;

    if (r == NULL)
        return err_memory(err, sizeof(*r));
    *replay = &r->base;
    r->base = (struct order_replay){ dataset_samples(d), 1, set_replay_chosen, set_replay_next,
                                     set_replay_free };
    r->dataset = d;
    r->lane_count = order->lanes;
    code = order_line_make(order, d->samples, d->manifest.shard_count, &r->line, err);
    return code == SHEAF_OK ? set_replay_begin_lanes(r, order, err) : code;
}

const struct epoch_order epoch_order_set = {
    .count = count_lanes, .begin = epoch_order_set_begin_lanes,
    .table_bytes = tables_of_lanes, .next = next_of_lane,
    .has_ended = lanes_have_ended, .source_epoch = epoch_of_samples,
    .samples = samples_of_member, .steps = steps_of_lane, .open_shards = shards_of_lanes,
    .rounds = rounds_of_line, .replay = set_replay_begin, .locate = locate_in_set,
    .stage = only_stage, .stage_after = only_stage_after, .fingerprint = fingerprint_of_set,
};
