/* SPDX-License-Identifier: MIT
 *
 * Computes the source of each step of a lane (a sequence of samples), and which samples of the
 * source its draws take; see mix.h and ORDER.md, sections 9 and 10. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/rng.h"
#include "reader/order/mix.h"

/* Approximate number of steps in a block. In a mix without weights, the sources of all steps in a
 * block are computed together. */
#define BLOCK_STEPS ((uint64_t)65536)

/* Counts the numbers from 0 to x - 1 that belong to one of the lanes 0 to `lane` - 1. Number n
 * belongs to lane n mod `lanes`. (A lane is a sequence of samples.) */
static uint64_t earlier_share(uint64_t x, uint32_t lanes, uint32_t lane)
{
    return x / lanes * lane + MIN(x % lanes, (uint64_t)lane);
}

/* ---- Turns by weights ------------------------------------------------------------------------ */

uint64_t mix_phase(const struct mix_stage *stage, const struct order *order, uint32_t lane)
{
    uint64_t phase = stage->period * lane / order->lanes;
    struct rng rng;

    if (order->lanes > 1) {
        rng_seed(&rng, RNG_PHASE, order->seed, 0, lane);
        phase += rng_below(&rng, MAX(stage->period / order->lanes, 1));
    }
    return phase;
}

/* Counts how often each source occurs in `steps` entries of the table, from entry `at` on. After
 * its last entry, the table begins again. Adds to drawn[i] the count of source i, multiplied by
 * `times`, because the caller may count several equal ranges in one call. */
static void count_draws(const struct mix *mix, const struct mix_stage *stage, uint64_t at,
                        uint64_t steps, uint64_t times, uint64_t *drawn)
{
    const uint64_t rest = steps % stage->period;

    for (size_t i = 0; i < mix->source_count; i++)
        drawn[i] += times * (steps / stage->period) * stage->weights[i];
    for (uint64_t t = 0; t < rest; t++)
        drawn[stage->table[(at + t) % stage->period]] += times;
}

/* Counts the draws of a lane (a sequence of samples) from each source in one stage. (A stage is a
 * part of a training run with weights of its own.) Adds the count for source i to drawn[i]. The
 * stage begins at step `from`, and the draws before step `to` are counted. Both steps are counted
 * over all epochs.
 *
 * The source of each step is in the table of the stage, which begins again after its last entry. If
 * there is only one lane, each epoch begins with the first entry. */
static void mix_turns_count_stage(const struct mix_turns *t, const struct mix_stage *stage,
                                  uint64_t from, uint64_t to, uint64_t rounds, uint64_t *drawn)
{
    uint64_t first;

    if (t->order.lanes > 1) {
        count_draws(t->mix, stage, mix_phase(stage, &t->order, t->lane), to - from, 1, drawn);
        return;
    }
    first = MIN((from + rounds - 1) / rounds * rounds, to);
    count_draws(t->mix, stage, 0, first - from, 1, drawn);
    count_draws(t->mix, stage, 0, rounds, (to - first) / rounds, drawn);
    count_draws(t->mix, stage, 0, (to - first) % rounds, 1, drawn);
}

uint64_t mix_stage_begin(const struct mix *mix, const struct order *order, size_t stage)
{
    return stage < mix->stage_count ? mix->stages[stage].samples / order->lanes : UINT64_MAX;
}

static uint64_t mix_turns_stage_begin(const struct mix_turns *t, size_t stage)
{
    return mix_stage_begin(t->mix, &t->order, stage);
}

/* Goes to the stage that has global step g. */
static void enter_stage(struct mix_turns *t, size_t number, uint64_t g)
{
    const struct mix_stage *stage = &t->mix->stages[number];
    const uint64_t epoch_begin = g - t->step;
    uint64_t begin = mix_turns_stage_begin(t, number);

    t->stage_end = mix_turns_stage_begin(t, number + 1);
    t->stage_end -= t->stage_end == UINT64_MAX ? 0 : epoch_begin;
    if (t->order.lanes == 1)
        begin = MAX(begin, epoch_begin);
    t->stage = number;
    t->table = stage->table;
    t->period = stage->period;
    t->at = (mix_phase(stage, &t->order, t->lane) + (g - begin)) % stage->period;
}

static void mix_turns_begin_weighted(struct mix_turns *t, uint64_t rounds, uint64_t *drawn)
{
    const uint64_t g = t->order.epoch * rounds + t->step;
    size_t stage = 0;

    while (mix_turns_stage_begin(t, stage + 1) <= g) {
        mix_turns_count_stage(t, &t->mix->stages[stage], mix_turns_stage_begin(t, stage),
                              mix_turns_stage_begin(t, stage + 1), rounds, drawn);
        stage++;
    }
    mix_turns_count_stage(t, &t->mix->stages[stage], mix_turns_stage_begin(t, stage), g, rounds,
                          drawn);
    enter_stage(t, stage, g);
}

/* ---- Turns by counts ------------------------------------------------------------------------- */

/* Returns the number of the lane (a sequence of samples) that makes the first draw from a source in
 * the epoch. */
static uint64_t first_lane(const struct mix *mix, const struct order *order, size_t source)
{
    uint64_t offset = 0;

    for (size_t i = 0; i < source; i++)
        offset += mix->sources[i].count % order->lanes;
    return offset % order->lanes;
}

/* The steps of a lane (a sequence of samples) are divided into blocks. Returns the number of steps
 * in the blocks 0 to `block` - 1 that draw from the source. */
static uint64_t in_blocks(const struct mix_turns *t, size_t source, uint64_t block)
{
    return (uint64_t)((unsigned __int128)t->counts[source] * block / t->block_count);
}

/* Returns the number of steps in a block. If `weights` is not NULL, sets weights[i] to the number
 * of draws from source i in the block. */
static uint64_t block_steps(const struct mix_turns *t, uint64_t block, uint64_t *weights)
{
    uint64_t steps = 0;

    for (size_t i = 0; i < t->mix->source_count; i++) {
        const uint64_t of_source = in_blocks(t, i, block + 1) - in_blocks(t, i, block);

        if (weights != NULL)
            weights[i] = of_source;
        steps += of_source;
    }
    return steps;
}

/* Makes the table with the source of each step in a block of steps. t->step must be the first step
 * of the block. */
static int enter_block(struct mix_turns *t, uint64_t block, struct sheaf_error *err)
{
    const size_t count = t->mix->source_count;
    uint64_t *weights = calloc(count + 1, sizeof(weights[0]));
    int code;

    if (weights == NULL)
        return err_memory(err, count * sizeof(weights[0]));
    t->period = block_steps(t, block, weights);
    code = mix_make_table(weights, count, t->period, t->block, err);
    free(weights);
    t->block_number = block;
    t->block_end = t->step + t->period;
    t->at = t->period * t->lane / t->order.lanes;
    return code;
}

/* Moves to the step `step`. First moves to the beginning of the block of steps that contains it,
 * and from there step by step. Sets drawn[i] to the number of draws from source i before this
 * step. */
static int mix_turns_go_to(struct mix_turns *t, uint64_t step, uint64_t *drawn,
                           struct sheaf_error *err)
{
    uint64_t block = 0;
    int code;

    t->step = 0;
    while (block + 1 < t->block_count && t->step + block_steps(t, block, NULL) <= step)
        t->step += block_steps(t, block++, NULL);
    code = enter_block(t, block, err);
    for (size_t i = 0; i < t->mix->source_count; i++)
        drawn[i] = in_blocks(t, i, block);
    for (; code == SHEAF_OK && t->step < step; t->step++) {
        drawn[t->table[t->at]]++;
        t->at = (t->at + 1) % t->period;
    }
    return code;
}

/* Computes how many draws the lane (a sequence of samples) makes from each source in the epoch, and
 * into how many blocks its steps are divided. */
static int begin_blocks(struct mix_turns *t, struct sheaf_error *err)
{
    const struct mix *mix = t->mix;
    uint64_t first = 0, all = 0;

    t->counts = calloc(mix->source_count + 1, sizeof(t->counts[0]));
    if (t->counts == NULL)
        return err_memory(err, mix->source_count * sizeof(t->counts[0]));
    for (size_t i = 0; i < mix->source_count; i++) {
        t->counts[i] = mix_lane_share(first + mix->sources[i].count, t->order.lanes, t->lane)
                       - mix_lane_share(first, t->order.lanes, t->lane);
        all += t->counts[i];
        first = (first + mix->sources[i].count) % t->order.lanes;
    }
    t->block_count = MAX((all + BLOCK_STEPS - 1) / BLOCK_STEPS, 1);
    t->block_most = MIN(all, BLOCK_STEPS + mix->source_count);
    t->block = calloc(t->block_most + 1, sizeof(t->block[0]));
    t->table = t->block;
    return t->block == NULL ? err_memory(err, t->block_most * sizeof(t->block[0])) : SHEAF_OK;
}

static int mix_turns_begin_counted(struct mix_turns *t, uint64_t *drawn, struct sheaf_error *err)
{
    const int code = begin_blocks(t, err);

    return code == SHEAF_OK ? mix_turns_go_to(t, t->step, drawn, err) : code;
}

/* ---- Turns ----------------------------------------------------------------------------------- */

int mix_turns_begin(struct mix_turns *t, const struct mix *mix, const struct order *order,
                    uint32_t lane, uint64_t step, uint64_t *drawn, struct sheaf_error *err)
{
    bool padded;
    int code = SHEAF_OK;

    *t = (struct mix_turns){ .mix = mix, .order = *order, .lane = lane };
    t->steps = mix_lane_steps(mix, order, lane, &padded) - padded;
    t->step = MIN(step, t->steps);
    memset(drawn, 0, mix->source_count * sizeof(drawn[0]));
    if (mix->stages != NULL)
        mix_turns_begin_weighted(t, mix_rounds(mix, order), drawn);
    else
        code = mix_turns_begin_counted(t, drawn, err);
    if (code != SHEAF_OK)
        mix_turns_free(t);
    return code;
}

int mix_turns_begin_block(struct mix_turns *t, const struct mix *mix, const struct order *order,
                          uint32_t lane, size_t source, uint64_t draw, uint64_t *drawn,
                          struct sheaf_error *err)
{
    uint64_t block;
    bool padded;
    int code;

    *t = (struct mix_turns){ .mix = mix, .order = *order, .lane = lane };
    t->steps = mix_lane_steps(mix, order, lane, &padded) - padded;
    code = begin_blocks(t, err);
    if (code == SHEAF_OK) {
        /* Find the first block that ends after draw `draw`. */
        block = (uint64_t)((((unsigned __int128)draw + 1) * t->block_count - 1)
                           / t->counts[source]);
        for (size_t i = 0; i < mix->source_count; i++) {
            drawn[i] = in_blocks(t, i, block);
            t->step += drawn[i];
        }
        code = enter_block(t, block, err);
    }
    if (code != SHEAF_OK)
        mix_turns_free(t);
    return code;
}

uint64_t mix_turns_bytes(const struct mix_turns *t)
{
    return t->counts == NULL ? 0 : (t->mix->source_count + 1) * sizeof(t->counts[0])
                                   + (t->block_most + 1) * sizeof(t->block[0]);
}

void mix_turns_free(struct mix_turns *t)
{
    free(t->counts);
    free(t->block);
    t->counts = NULL;
    t->block = NULL;
}

int mix_turns_next(struct mix_turns *t, size_t *source, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    /* Several stages may begin at one step. */
    while (t->mix->stages != NULL && t->step == t->stage_end)
        enter_stage(t, t->stage + 1,
                    t->order.epoch * mix_rounds(t->mix, &t->order) + t->step);
    if (t->mix->stages == NULL && t->step == t->block_end)
        code = enter_block(t, t->block_number + 1, err);
    if (code != SHEAF_OK)
        return code;
    *source = t->table[t->at];
    t->at = t->at + 1 == t->period ? 0 : t->at + 1;
    t->step++;
    return SHEAF_OK;
}

/* ---- Stretches ------------------------------------------------------------------------------- */

static struct mix_stretch stretch_weighted(const struct mix *mix, const struct order *order,
                                           uint32_t lane, size_t source, uint64_t epoch,
                                           uint64_t *draw)
{
    const uint64_t samples = mix->sources[source].samples;
    const uint64_t from = epoch * samples, to = from + samples;

    *draw = mix_lane_share(from, order->lanes, lane);
    return (struct mix_stretch){
        .source_epoch = epoch,
        .start = earlier_share(to, order->lanes, lane) - earlier_share(from, order->lanes, lane),
        .count = mix_lane_share(to, order->lanes, lane) - *draw,
    };
}

static struct mix_stretch stretch_counted(const struct mix *mix, const struct order *order,
                                          uint32_t lane, size_t source, uint64_t epoch,
                                          uint64_t offset, uint64_t *draw)
{
    const uint64_t samples = mix->sources[source].samples, count = mix->sources[source].count;
    const uint64_t begin = order->epoch * count;            /* number of draws before this epoch */
    const uint64_t from = MAX(begin, epoch * samples);
    const uint64_t to = MIN(begin + count, (epoch + 1) * samples);
    const uint64_t low = offset + (from - begin), high = offset + (to - begin);

    *draw = mix_lane_share(low, order->lanes, lane) - mix_lane_share(offset, order->lanes, lane);
    return (struct mix_stretch){
        .source_epoch = epoch,
        .start = from - epoch * samples + earlier_share(high, order->lanes, lane)
                 - earlier_share(low, order->lanes, lane),
        .count = mix_lane_share(high, order->lanes, lane) - *draw
                 - mix_lane_share(offset, order->lanes, lane),
    };
}

struct mix_stretch mix_stretch_in(const struct mix *mix, const struct order *order, uint32_t lane,
                                  size_t source, uint64_t source_epoch, uint64_t offset,
                                  uint64_t *draw)
{
    return mix->stages != NULL
           ? stretch_weighted(mix, order, lane, source, source_epoch, draw)
           : stretch_counted(mix, order, lane, source, source_epoch, offset, draw);
}

struct mix_stretch mix_stretch_of(const struct mix *mix, const struct order *order, uint32_t lane,
                                  size_t source, uint64_t draw)
{
    const uint64_t lanes = order->lanes;
    const uint64_t offset = mix->stages != NULL ? 0 : first_lane(mix, order, source);
    const uint64_t number = mix->stages != NULL ? draw * lanes + lane
                          : order->epoch * mix->sources[source].count
                            + (lane + lanes - offset) % lanes + draw * lanes;
    uint64_t first;
    struct mix_stretch stretch = mix_stretch_in(mix, order, lane, source,
                                                number / mix->sources[source].samples, offset,
                                                &first);

    stretch.before = draw - first;
    return stretch;
}
