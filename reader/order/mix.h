/* SPDX-License-Identifier: MIT
 *
 * Decides, for a mix of several sources, from which source each step of a lane draws, and which
 * samples of the source the draws take. The step of a lane gives a source, and the number of this
 * draw among the lane's draws from the source. The draw's number gives an epoch of the source and a
 * position in the order of that epoch. This is version 2 of the order (ORDER.md, sections 8 to 11),
 * as functions of numbers without side effects. */
#ifndef READER_VIEW_MIX_H
#define READER_VIEW_MIX_H

#include "reader/order/order.h"

#define MIX_SOURCES_MOST 65535u
#define MIX_PERIOD_MOST  ((uint64_t)1 << 20)

struct mix_source {
    uint64_t samples;           /* number of chosen samples; N[i] in ORDER.md */
    uint64_t count;             /* without weights: its samples in an epoch; c[i] */
    uint64_t id;
};

/* The weights that hold from a certain step on. */
struct mix_stage {
    /* number of samples of the whole run before this stage begins; 0 for the first stage */
    uint64_t samples;
    uint64_t period;            /* P */
    uint64_t *weights;          /* for each source, divided by their greatest common divisor */
    uint16_t *table;            /* the source of each step of the period */
};

struct mix {
    struct mix_source *sources;
    size_t source_count;
    uint64_t samples;           /* in an epoch; T */
    struct mix_stage *stages;   /* NULL if there are no weights */
    size_t stage_count;
};

/* Divides the weights by their greatest common divisor. If their sum is still more than
 * MIX_PERIOD_MOST, scales them down to this sum. Returns the sum, which is 0 if all weights are
 * 0. */
uint64_t mix_apportion(uint64_t *weights, size_t count);

/* Fills table[0 .. period-1] with sources, by the quota method. Source i occurs weights[i] times,
 * so `period` must be the sum of the weights. The period must be at most MIX_PERIOD_MOST plus the
 * number of sources. */
int mix_make_table(const uint64_t *weights, size_t count, uint64_t period, uint16_t *table,
                   struct sheaf_error *err);

void mix_free(struct mix *mix);

/* ---- The epoch ------------------------------------------------------------------------------ */

/* Returns SHEAF_ERR_ARGUMENT if the number of the epoch is so large that sample counts would exceed
 * 2^63. */
int mix_check(const struct mix *mix, const struct order *order, struct sheaf_error *err);

/* Returns the number of rounds of an epoch (in a round, each lane makes one step). It is the number
 * of steps of the longest lane. */
uint64_t mix_rounds(const struct mix *mix, const struct order *order);
/* Returns the number of steps of a lane, including the step that pads the lane. Sets *padded to
 * whether the lane is padded. */
uint64_t mix_lane_steps(const struct mix *mix, const struct order *order, uint32_t lane,
                        bool *padded);
/* Returns the lane whose first sample is repeated at the end of this lane as padding. It is the
 * lane itself; if the lane has no samples, it is another lane that has some. */
uint32_t mix_padding_lane(const struct mix *mix, const struct order *order, uint32_t lane);
uint64_t mix_member_samples(const struct mix *mix, const struct order *order,
                            const struct order_member *member);

/* Returns the order of one source in the mix, which has its own seed and its own share of the
 * shuffle buffer. */
struct order mix_source_order(const struct mix *mix, const struct order *order, size_t source);

/* Returns how many of the numbers from 0 to x - 1 belong to the lane, if number n belongs to lane n
 * mod `lanes`. */
static inline uint64_t mix_lane_share(uint64_t x, uint32_t lanes, uint32_t lane)
{
    return x / lanes + (lane < x % lanes);
}

/* Returns the step at which a stage begins, counted over all epochs. It is the same for each lane.
 * Returns UINT64_MAX if there is no such stage. */
uint64_t mix_stage_begin(const struct mix *mix, const struct order *order, size_t stage);
/* Returns the entry with which the lane begins in the table of a stage. (The table lists the source
 * of each step.) */
uint64_t mix_phase(const struct mix_stage *stage, const struct order *order, uint32_t lane);

/* ---- The turns of a lane --------------------------------------------------------------------- */

struct mix_turns {
    const struct mix *mix;
    struct order order;
    uint32_t lane;
    uint64_t step, steps;       /* without the step that pads */
    size_t stage;
    uint64_t stage_end;         /* step; */
    const uint16_t *table;
    uint64_t at, period;
    /* for a view without weights: number of the lane's draws from each source in the epoch */
    uint64_t *counts;
    uint16_t *block;            /* the table of the current block; */
    uint64_t block_number, block_count, block_end;
};

/* Begins to compute the turns of a lane (the source of each of its steps) at a given step. Sets
 * drawn[i] to the number of earlier draws from source i. If there are weights, these are counted
 * from the beginning of the run, otherwise from the beginning of the epoch. `mix` is borrowed. */
int mix_turns_begin(struct mix_turns *turns, const struct mix *mix, const struct order *order,
                    uint32_t lane, uint64_t step, uint64_t *drawn, struct sheaf_error *err);
/* Only for a mix without weights. Begins to compute the turns (the source of each step) at the
 * block of steps that contains draw number `draw` of a source. The lane must make this draw in the
 * epoch. */
int mix_turns_begin_block(struct mix_turns *turns, const struct mix *mix,
                          const struct order *order, uint32_t lane, size_t source, uint64_t draw,
                          uint64_t *drawn, struct sheaf_error *err);
void mix_turns_free(struct mix_turns *turns);

/* Finds the source of the next step, which must be less than turns->steps. Returns SHEAF_OK or
 * SHEAF_ERR_MEMORY. */
int mix_turns_next(struct mix_turns *turns, size_t *source, struct sheaf_error *err);

/* ---- Stretches ------------------------------------------------------------------------------ */

/* A stretch: a range of samples in one epoch of a source, which a single lane reads completely. */
struct mix_stretch {
    uint64_t source_epoch;
    uint64_t start, count;      /* places */
    /* number of samples of the stretch that are drawn before the requested draw */
    uint64_t before;
};

/* Returns the range of samples ("stretch") that contains draw number `draw` of a lane from a
 * source. Draws are counted as in mix_turns_begin. */
struct mix_stretch mix_stretch_of(const struct mix *mix, const struct order *order, uint32_t lane,
                                  size_t source, uint64_t draw);

/* Returns the stretch (range of samples) that a lane reads in epoch `source_epoch` of a source. Its
 * member .before is 0. Sets *draw to the number of the lane's first draw from the stretch. The
 * present epoch of the view must draw from this epoch of the source. `offset` must be 0 if there
 * are weights. Otherwise it must be the lane that makes the first draw from the source in the
 * view's epoch. */
struct mix_stretch mix_stretch_in(const struct mix *mix, const struct order *order, uint32_t lane,
                                  size_t source, uint64_t source_epoch, uint64_t offset,
                                  uint64_t *draw);

#endif
