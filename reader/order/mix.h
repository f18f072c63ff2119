/* SPDX-License-Identifier: MIT
 *
 * Decides, for a mix of several sources, from which source each step of a lane draws, and which
 * places on the source's line the draws take. This is version 2 of the order (ORDER.md, sections
 * 8 to 11), as pure functions of numbers.
 *
 *     step of a lane --turns--> source, and its draw d --stretch--> source epoch, place on its line
 */
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
    uint64_t samples;           /* number of samples of the run before this stage begins; 0 for
                                   the first stage */
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

/* Divides the weights by their greatest common divisor. If their sum is then more than
 * MIX_PERIOD_MOST, scales them down to that sum. Returns the sum, which is 0 if all weights are
 * 0. */
uint64_t mix_apportion(uint64_t *weights, size_t count);

/* Fills table[0 .. period-1] with sources by the quota method. Source i appears weights[i] times,
 * so `period` must be the sum of the weights. It is at most MIX_PERIOD_MOST plus the number of
 * sources. */
int mix_make_table(const uint64_t *weights, size_t count, uint64_t period, uint16_t *table,
                   struct sheaf_error *err);

void mix_free(struct mix *mix);

/* ---- The epoch ------------------------------------------------------------------------------ */

/* Returns SHEAF_ERR_ARGUMENT if the epoch is so late that its numbers exceed 2^63. */
int mix_check(const struct mix *mix, const struct order *order, struct sheaf_error *err);

/* Returns the number of rounds of an epoch, which is the number of steps of its longest lane. */
uint64_t mix_rounds(const struct mix *mix, const struct order *order);
/* Returns the number of steps of a lane, including the step that pads it. *padded becomes whether
 * there is such a step. */
uint64_t mix_lane_steps(const struct mix *mix, const struct order *order, uint32_t lane,
                        bool *padded);
/* Returns the lane whose first draw pads a lane: the lane itself, or one that has a sample. */
uint32_t mix_padding_lane(const struct mix *mix, const struct order *order, uint32_t lane);
uint64_t mix_member_samples(const struct mix *mix, const struct order *order,
                            const struct order_member *member);

/* Returns the order that one source has in the mix: its seed and its slots of the buffer. */
struct order mix_source_order(const struct mix *mix, const struct order *order, size_t source);

/* Returns how many of the numbers 0 to x - 1 belong to the lane, if number n belongs to lane n mod
 * `lanes`. */
static inline uint64_t mix_lane_share(uint64_t x, uint32_t lanes, uint32_t lane)
{
    return x / lanes + (lane < x % lanes);
}

/* Returns the global step at which a stage begins, or UINT64_MAX if there is no such stage. */
uint64_t mix_stage_begin(const struct mix *mix, const struct order *order, size_t stage);
/* Returns the entry at which the lane begins in the table of a stage. */
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
    uint64_t *counts;           /* without weights: the lane's draws from each source in the
                                   epoch; */
    uint16_t *block;            /* the table of the current block; */
    uint64_t block_number, block_count, block_end;
};

/* Begins the turns of a lane at a step. drawn[i] becomes the number of earlier draws from source i,
 * counted from the beginning of the run, or without weights from the beginning of the epoch. `mix`
 * is borrowed. */
int mix_turns_begin(struct mix_turns *turns, const struct mix *mix, const struct order *order,
                    uint32_t lane, uint64_t step, uint64_t *drawn, struct sheaf_error *err);
/* Only without weights. Begins the turns at the block that has draw `draw` of a source. The lane
 * must make that draw in the epoch. */
int mix_turns_begin_block(struct mix_turns *turns, const struct mix *mix,
                          const struct order *order, uint32_t lane, size_t source, uint64_t draw,
                          uint64_t *drawn, struct sheaf_error *err);
void mix_turns_free(struct mix_turns *turns);

/* Finds the source of the next step, which must be below turns->steps. Returns SHEAF_OK or
 * SHEAF_ERR_MEMORY. */
int mix_turns_next(struct mix_turns *turns, size_t *source, struct sheaf_error *err);

/* ---- Stretches ------------------------------------------------------------------------------ */

/* A range of places on the line of one source epoch, which one lane reads as a whole. */
struct mix_stretch {
    uint64_t source_epoch;
    uint64_t start, count;      /* places */
    uint64_t before;            /* number of places that are drawn before the requested draw */
};

/* Returns the stretch that has draw `draw` of a lane from a source. Draws are counted as in
 * mix_turns_begin. */
struct mix_stretch mix_stretch_of(const struct mix *mix, const struct order *order, uint32_t lane,
                                  size_t source, uint64_t draw);

/* Returns the stretch of a lane in a source epoch, with .before 0, and the number of its first
 * draw. The epoch must draw from that source epoch. `offset` is the lane of the source's first draw
 * in the epoch, or 0 with weights. */
struct mix_stretch mix_stretch_in(const struct mix *mix, const struct order *order, uint32_t lane,
                                  size_t source, uint64_t source_epoch, uint64_t offset,
                                  uint64_t *draw);

#endif
