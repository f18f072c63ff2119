/* SPDX-License-Identifier: MIT
 *
 * From which source each step of a lane draws, where several are mixed, and which places of the
 * source's line that are: version 2 of the order (ORDER.md, sections 8 to 11), as pure functions
 * of numbers.
 *
 *     step of a lane --turns--> source, and its draw d --stretch--> source epoch, place on its line
 */
#ifndef READER_VIEW_MIX_H
#define READER_VIEW_MIX_H

#include "reader/order/order.h"

#define MIX_SOURCES_MOST 65535u
#define MIX_PERIOD_MOST  ((uint64_t)1 << 20)

struct mix_source {
    uint64_t samples;           /* chosen; N[i] of ORDER.md */
    uint64_t count;             /* without weights: how many an epoch has; c[i] */
    uint64_t id;
};

/* Weights, from a step of the run on. */
struct mix_stage {
    uint64_t samples;           /* of the run, before it begins; 0 for the first */
    uint64_t period;            /* P */
    uint64_t *weights;          /* of each source, without a common divisor */
    uint16_t *table;            /* of the period: sources */
};

struct mix {
    struct mix_source *sources;
    size_t source_count;
    uint64_t samples;           /* of an epoch; T */
    struct mix_stage *stages;   /* NULL: there are no weights */
    size_t stage_count;
};

/* Divides the weights by their greatest common divisor, and apportions them to a sum of
 * MIX_PERIOD_MOST if it is more than that.  Returns their sum; 0: all are 0. */
uint64_t mix_apportion(uint64_t *weights, size_t count);

/* The quota method: table[0 .. period-1], with source i in weights[i] of them, their sum the
 * period, which is at most MIX_PERIOD_MOST plus the number of sources. */
int mix_make_table(const uint64_t *weights, size_t count, uint64_t period, uint16_t *table,
                   struct sheaf_error *err);

void mix_free(struct mix *mix);

/* ---- The epoch ------------------------------------------------------------------------------ */

/* SHEAF_ERR_ARGUMENT: the epoch is so late that its numbers pass 2^63. */
int mix_check(const struct mix *mix, const struct order *order, struct sheaf_error *err);

/* Rounds of an epoch: the steps of its longest lane. */
uint64_t mix_rounds(const struct mix *mix, const struct order *order);
/* Steps of a lane, with the one that pads it; *padded: whether there is one. */
uint64_t mix_lane_steps(const struct mix *mix, const struct order *order, uint32_t lane,
                        bool *padded);
/* The lane that a padded lane repeats the first draw of: itself, or one that has a sample. */
uint32_t mix_padding_lane(const struct mix *mix, const struct order *order, uint32_t lane);
uint64_t mix_member_samples(const struct mix *mix, const struct order *order,
                            const struct order_member *member);

/* The order of a source in this one: its seed, and its slots of the buffer. */
struct order mix_source_order(const struct mix *mix, const struct order *order, size_t source);

/* How many of the numbers below x go to a lane, where number n goes to lane n mod L. */
static inline uint64_t mix_lane_share(uint64_t x, uint32_t lanes, uint32_t lane)
{
    return x / lanes + (lane < x % lanes);
}

/* Where a stage begins, as a global step; UINT64_MAX: there is none of this number. */
uint64_t mix_stage_begin(const struct mix *mix, const struct order *order, size_t stage);
/* Where in the table of a stage the lane begins. */
uint64_t mix_phase(const struct mix_stage *stage, const struct order *order, uint32_t lane);

/* ---- The turns of a lane --------------------------------------------------------------------- */

struct mix_turns {
    const struct mix *mix;
    struct order order;
    uint32_t lane;
    uint64_t step, steps;       /* without the one that pads */
    size_t stage;
    uint64_t stage_end;         /* step; */
    const uint16_t *table;
    uint64_t at, period;
    uint64_t *counts;           /* without weights: this lane's, of each source; */
    uint16_t *block;            /* the table of the block; */
    uint64_t block_number, block_count, block_end;
};

/* The turns of a lane from a step on.  drawn[i]: its draws from source i before that, since the
 * beginning of the run, or without weights of the epoch.  `mix` is borrowed. */
int mix_turns_begin(struct mix_turns *turns, const struct mix *mix, const struct order *order,
                    uint32_t lane, uint64_t step, uint64_t *drawn, struct sheaf_error *err);
/* Without weights: the turns from the beginning of the block on that has draw `draw` of a source,
 * which the lane makes in the epoch. */
int mix_turns_begin_block(struct mix_turns *turns, const struct mix *mix,
                          const struct order *order, uint32_t lane, size_t source, uint64_t draw,
                          uint64_t *drawn, struct sheaf_error *err);
void mix_turns_free(struct mix_turns *turns);

/* The source of the next step, which must be below turns->steps.  SHEAF_ERR_MEMORY. */
int mix_turns_next(struct mix_turns *turns, size_t *source, struct sheaf_error *err);

/* ---- Stretches ------------------------------------------------------------------------------ */

/* The places of one lane on the line of one source epoch, which it takes in together. */
struct mix_stretch {
    uint64_t source_epoch;
    uint64_t start, count;      /* places */
    uint64_t before;            /* of these, drawn before the draw that was asked for */
};

/* The stretch with draw `draw` of a lane from a source, counted as mix_turns_begin does. */
struct mix_stretch mix_stretch_of(const struct mix *mix, const struct order *order, uint32_t lane,
                                  size_t source, uint64_t draw);

/* The stretch of a source epoch that the epoch draws from, with .before 0, and the draw that it
 * begins with.  offset: the lane of the source's first draw of the epoch; 0 with weights. */
struct mix_stretch mix_stretch_in(const struct mix *mix, const struct order *order, uint32_t lane,
                                  size_t source, uint64_t source_epoch, uint64_t offset,
                                  uint64_t *draw);

#endif
