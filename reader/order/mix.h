/* SPDX-License-Identifier: MIT
 *
 * Decides how the lanes (sequences of samples) of an epoch draw from a mix of several sources. For
 * each step of a lane, computes the source, and the number of the lane's draw from this source. The
 * number of the draw determines an epoch of the source, and a position in the order of this epoch.
 *
 * All functions compute with numbers and have no side effects. They implement version 2 of the
 * order (ORDER.md, sections 8 to 11). */
#ifndef READER_VIEW_MIX_H
#define READER_VIEW_MIX_H

#include "reader/order/order.h"

#define MIX_SOURCES_MOST 65535u
#define MIX_PERIOD_MOST  ((uint64_t)1 << 20)

struct mix_source {
    uint64_t samples;           /* number of chosen samples; N[i] in ORDER.md */
    /* in a mix without weights: number of samples that are drawn from this source in each epoch
     * (c[i] in ORDER.md) */
    uint64_t count;
    uint64_t id;
};

/* A stage: a part of a training run with weights of its own. It begins at a certain step. */
struct mix_stage {
    /* Number of samples of the whole training run that are returned before this stage begins. 0 for
     * the first stage. */
    uint64_t samples;
    uint64_t period;            /* number of entries of `table`; P in ORDER.md */
    /* weights of the sources, divided by their greatest common divisor */
    uint64_t *weights;
    /* Table with the source of each step, for `period` steps. After its last entry, the table
     * begins again. */
    uint16_t *table;
};

struct mix {
    struct mix_source *sources;
    size_t source_count;
    uint64_t samples;           /* number of samples in an epoch; T in ORDER.md */
    struct mix_stage *stages;   /* NULL if there are no weights */
    size_t stage_count;
};

/* Divides the weights by their greatest common divisor. If their sum is still greater than
 * MIX_PERIOD_MOST, scales them down to this sum. Returns the sum. Returns 0 if all weights are 0,
 * or if memory is exhausted. */
uint64_t mix_apportion(uint64_t *weights, size_t count);

/* Fills the table with the source of each step, for `period` steps, by the quota method (ORDER.md).
 * Source i occurs weights[i] times, so `period` must be the sum of the weights. The sum must be at
 * most MIX_PERIOD_MOST plus the number of sources. */
int mix_make_table(const uint64_t *weights, size_t count, uint64_t period, uint16_t *table,
                   struct sheaf_error *err);

void mix_free(struct mix *mix);

/* ---- The epoch ------------------------------------------------------------------------------ */

/* Returns SHEAF_ERR_ARGUMENT if the number of the epoch is too large. The number of samples up to
 * the end of the epoch must not exceed 2^63. */
int mix_check(const struct mix *mix, const struct order *order, struct sheaf_error *err);

/* Returns the number of rounds of an epoch, which is the number of steps of its longest lane. In a
 * round, each lane makes one step. */
uint64_t mix_rounds(const struct mix *mix, const struct order *order);
/* Returns the number of steps of a lane (a sequence of samples). If the lane is shorter than others
 * and is padded, sets *padded to true and includes the step that pads it. */
uint64_t mix_lane_steps(const struct mix *mix, const struct order *order, uint32_t lane,
                        bool *padded);
/* A shorter lane (a sequence of samples) is padded with one sample. Usually the sample is the first
 * sample of the lane itself. If the lane draws no samples, it is the first sample of another lane.
 * Returns the number of the lane whose first sample pads lane number `lane`. */
uint32_t mix_padding_lane(const struct mix *mix, const struct order *order, uint32_t lane);
uint64_t mix_member_samples(const struct mix *mix, const struct order *order,
                            const struct order_member *member);

/* Returns the order of a source in the mix. Each source has a seed of its own, and a part of the
 * shuffle buffer. */
struct order mix_source_order(const struct mix *mix, const struct order *order, size_t source);

/* Counts the numbers from 0 to x - 1 that belong to the lane (a sequence of samples) with the
 * number `lane`. Number n belongs to lane n mod `lanes`. */
static inline uint64_t mix_lane_share(uint64_t x, uint32_t lanes, uint32_t lane)
{
    return x / lanes + (lane < x % lanes);
}

/* Returns the step at which a stage (a part of a training run with weights of its own) begins.
 * Steps are counted over all epochs, and the result is valid for each lane (a sequence of samples).
 * Returns UINT64_MAX if there is no such stage. */
uint64_t mix_stage_begin(const struct mix *mix, const struct order *order, size_t stage);
/* Returns the index in the stage's table at which the lane (a sequence of samples) begins. The
 * table has the source of each step. A stage is a part of a training run with weights of its
 * own. */
uint64_t mix_phase(const struct mix_stage *stage, const struct order *order, uint32_t lane);

/* ---- The turns of a lane --------------------------------------------------------------------- */

struct mix_turns {
    const struct mix *mix;
    struct order order;
    uint32_t lane;
    /* `step` is the next step of the lane. `steps` is the number of its steps, without a step that
     * repeats a sample as padding. */
    uint64_t step, steps;
    size_t stage;
    /* step of the epoch at which the weights change, because the present stage ends; UINT64_MAX if
     * it is the last stage */
    uint64_t stage_end;
    const uint16_t *table;
    uint64_t at, period;
    /* For a view (a mix of data sets) without weights: number of samples that the lane draws from
     * each source in the epoch. */
    uint64_t *counts;
    uint16_t *block;            /* the table of the current block of draws */
    uint64_t block_most;        /* number of draws for which the table has room */
    uint64_t block_number, block_count, block_end;
};

/* Prepares *turns to compute the source of each step of a lane (a sequence of samples), beginning
 * with `step`. *turns keeps the pointer `mix`.
 *
 * Sets drawn[i] to the number of the lane's draws from source i before this step. If there are
 * weights, draws are counted from the beginning of the run, and otherwise from the beginning of the
 * epoch. */
int mix_turns_begin(struct mix_turns *turns, const struct mix *mix, const struct order *order,
                    uint32_t lane, uint64_t step, uint64_t *drawn, struct sheaf_error *err);
/* Only for a mix without weights, in which the steps of a lane (a sequence of samples) are divided
 * into blocks. Prepares *turns to compute the source of each step. Begins with the block that
 * contains draw number `draw` from the source `source`. The draws of this lane from this source are
 * counted from 0. The draw must be in the epoch. */
int mix_turns_begin_block(struct mix_turns *turns, const struct mix *mix,
                          const struct order *order, uint32_t lane, size_t source, uint64_t draw,
                          uint64_t *drawn, struct sheaf_error *err);
void mix_turns_free(struct mix_turns *turns);
/* Returns the memory in bytes of the tables that *turns has allocated. */
uint64_t mix_turns_bytes(const struct mix_turns *turns);

/* Sets *source to the source of the next step of the lane (a sequence of samples). There must be a
 * next step (turns->step < turns->steps). Returns SHEAF_OK or SHEAF_ERR_MEMORY. */
int mix_turns_next(struct mix_turns *turns, size_t *source, struct sheaf_error *err);

/* ---- Stretches ------------------------------------------------------------------------------ */

/* A stretch: a range of samples in one epoch of a source. All samples of the stretch are read by
 * one lane (a sequence of samples). */
struct mix_stretch {
    uint64_t source_epoch;
    /* `start` is the position at which the stretch begins in the source's line (the sequence of its
     * chosen samples before shuffling). `count` is the number of positions. */
    uint64_t start, count;
    /* Number of draws that the lane makes from this stretch before draw number `draw`, the argument
     * of mix_stretch_of. */
    uint64_t before;
};

/* A lane (a sequence of samples) makes draw number `draw` from a source. Returns the stretch (range
 * of the source's samples) to which this draw belongs. Draws are counted as in mix_turns_begin. */
struct mix_stretch mix_stretch_of(const struct mix *mix, const struct order *order, uint32_t lane,
                                  size_t source, uint64_t draw);

/* Returns the stretch (range of samples) that a lane (a sequence of samples) reads in epoch
 * `source_epoch` of a source. One epoch of the view, order->epoch, may read several epochs of a
 * source; `source_epoch` must be one of them. Sets *draw to the number of the lane's first draw
 * from the stretch. In the result, the field `before` is 0.
 *
 * If the mix has weights, `offset` is not used. Otherwise `offset` must be the number of the lane
 * that makes the first draw from the source in the view's epoch. */
struct mix_stretch mix_stretch_in(const struct mix *mix, const struct order *order, uint32_t lane,
                                  size_t source, uint64_t source_epoch, uint64_t offset,
                                  uint64_t *draw);

#endif
