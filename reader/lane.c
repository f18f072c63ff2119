/* SPDX-License-Identifier: MIT
 *
 * A lane from its beginning to its end; see lane.h. */
#include "reader/lane.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/deferred.h"
#include "reader/stream.h"

/* One slot of so many is worth an early sample. */
#define EARLY_OF_SLOTS 16u

/* ---- A lane's intakes ----------------------------------------------------------------------- */

uint64_t lane_intakes(const struct lane *lane)
{
    return lane->early + lane->fill + (lane->shuffle.inputs - lane->after);
}

static uint64_t input_of(const struct lane *lane, uint64_t intake)
{
    if (intake < lane->early)
        return lane->early_inputs[intake];
    if (intake - lane->early >= lane->fill)
        return lane->after + (intake - lane->early - lane->fill);
    return lane->fill_inputs == NULL ? intake : lane->fill_inputs[intake - lane->early];
}

uint64_t lane_intake_place(const struct lane *lane, uint64_t intake)
{
    return order_lane_place(&lane->range, input_of(lane, intake));
}

bool lane_intake_repeats(const struct lane *lane, uint64_t intake)
{
    if (!lane->range.padded)
        return false;
    return lane->draws != NULL ? draws_repeats(lane->draws, intake)
                               : input_of(lane, intake) == lane->range.count;
}

struct fill {
    uint64_t input, slot;
};

static int compare_fill(const void *a, const void *b)
{
    const uint64_t x = ((const struct fill *)a)->input, y = ((const struct fill *)b)->input;

    return x < y ? -1 : x > y;
}

/* Takes the early steps on numbers: `held` has what the slots hold. */
static void step_early(struct lane *lane, uint64_t *held)
{
    for (uint64_t i = 0; i < lane->early; i++)
        lane->early_inputs[i] = shuffle_draw(&lane->shuffle, held);
}

/* Replays the steps on numbers, and the early ones that follow them, and notes what the slots then
 * hold in the order of the line, so that it is fetched in one pass. */
static int replay(struct lane *lane, uint64_t steps, struct sheaf_error *err)
{
    const uint64_t slots = lane->shuffle.filled;
    uint64_t *held = calloc(slots + 1, sizeof(held[0]));
    struct fill *fills = calloc(slots + 1, sizeof(fills[0]));
    int code = SHEAF_OK;

    lane->fill_inputs = calloc(slots + 1, sizeof(lane->fill_inputs[0]));
    lane->fill_slots = calloc(slots + 1, sizeof(lane->fill_slots[0]));
    if (held == NULL || fills == NULL || lane->fill_inputs == NULL || lane->fill_slots == NULL) {
        code = err_memory(err, slots * 40);
        goto out;
    }
    shuffle_replay(&lane->shuffle, steps, held);
    lane->early = MIN(lane->early, lane->shuffle.filled);
    step_early(lane, held);
    lane->fill = lane->shuffle.filled;
    lane->after = lane->shuffle.next;
    for (uint64_t i = 0; i < lane->fill; i++)
        fills[i] = (struct fill){ .input = held[i], .slot = i };
    qsort(fills, lane->fill, sizeof(fills[0]), compare_fill);
    for (uint64_t i = 0; i < lane->fill; i++) {
        lane->fill_inputs[i] = fills[i].input;
        lane->fill_slots[i] = fills[i].slot;
    }
out:
    free(held);
    free(fills);
    return code;
}

/* The shuffle has one slot from here on, which the draws pass through. */
static int begin_draws(struct feed *feed, struct lane *lane, uint64_t steps,
                       struct sheaf_error *err)
{
    struct shuffle *s = &lane->shuffle;
    const int code = draws_open(&lane->draws, &feed->shards, &feed->line, &lane->range, s, steps,
                                err);

    s->inputs -= MIN(steps, s->inputs);
    s->filled = s->next = MIN(s->inputs, 1);
    return code;
}

int lane_begin(struct feed *feed, struct lane *lane, uint64_t steps, struct sheaf_error *err)
{
    const uint32_t number = lane->number;
    const bool is_stream = feed->dataset->is_stream;
    const uint64_t samples = is_stream ? 0 : dataset_samples(feed->dataset);
    int code = SHEAF_OK;

    memset(lane, 0, sizeof(*lane));
    lane->number = number;
    if (is_stream)
        code = stream_open(&(struct stream_context){ feed->dataset, &feed->order, &feed->line,
                                                     feed->cache, &feed->pipe_shift },
                           number, feed->budget.limit / feed->lane_count, &lane->stream, err);
    if (code != SHEAF_OK)
        return code;
    lane->range = order_lane_of(&feed->order, samples, number);
    shuffle_begin(&lane->shuffle, &feed->order, number,
                        is_stream ? UINT64_MAX : order_lane_inputs(&lane->range));
    if (feed->draws)
        code = begin_draws(feed, lane, steps, err);
    if (code != SHEAF_OK)
        return code;
    lane->slots = calloc(lane->shuffle.filled + 1, sizeof(lane->slots[0]));
    if (lane->slots == NULL)
        return err_memory(err, lane->shuffle.filled * sizeof(lane->slots[0]));
    lane->slot_count = lane->shuffle.filled;
    lane->fill = lane->shuffle.filled;
    lane->after = lane->shuffle.next;
    if (is_stream || feed->draws)
        return SHEAF_OK;
    if (feed->dataset->codec == NULL)   /* else they would bring whole blocks along */
        lane->early = MIN(LANE_EARLY / feed->lane_count, lane->fill / EARLY_OF_SLOTS);
    return steps == 0 && lane->early == 0 ? SHEAF_OK : replay(lane, steps, err);
}

void lane_cancel(struct lane *lane)
{
    for (struct chunk *chunk = lane->first; chunk != NULL; chunk = chunk->next)
        chunk_cancel(chunk);
    recalls_cancel(lane);
    stream_cancel(lane->stream);
}

void lane_wait(struct lane *lane)
{
    for (struct chunk *chunk = lane->first; chunk != NULL; chunk = chunk->next)
        if (!chunk->is_done)
            workers_wait(chunk->workers, &chunk->job);
}

void lane_clear(struct feed *feed, struct lane *lane)
{
    for (struct chunk *c = lane->first, *next; c != NULL; c = next) {
        next = c->next;
        chunk_give_memory(c, &feed->budget);
        chunk_drop_shards(c, &feed->shards);
        feed->outstanding--;
        chunk_free(c, feed->frames);
    }
    for (uint64_t i = 0; lane->slots != NULL && i < lane->slot_count; i++)
        item_free(&lane->slots[i], feed->frames);
    recalls_clear(feed, lane);
    stream_close(lane->stream);
    lane->stream = NULL;
    draws_close(lane->draws);
    lane->draws = NULL;
    shards_drop(&feed->shards, lane->shard);
    shards_drop(&feed->shards, lane->ahead);
    shards_drop(&feed->shards, lane->alone);
    free(lane->slots);
    free(lane->fill_inputs);
    free(lane->fill_slots);
    lane->first = lane->last = NULL;
    lane->shard = lane->ahead = lane->alone = NULL;
    lane->slots = NULL;
    lane->fill_inputs = lane->fill_slots = NULL;
}
