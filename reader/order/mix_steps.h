/* SPDX-License-Identifier: MIT
 *
 * Computes the inverse of mix.h. For a sample of a source, finds the lane (a sequence of samples)
 * that draws it. Also finds the number of this draw, and the step of the epoch at which the lane
 * makes this draw.
 *
 * If there are weights, the source of each step is in a table that repeats. The positions of each
 * source in the table are stored. So a draw is found without computing all steps before it: draws
 * are counted by a binary search, and the step of a draw is computed from its position in the
 * table.
 *
 * If there are no weights, only the block of steps that contains the draw is computed. */
#ifndef READER_VIEW_MIX_STEPS_H
#define READER_VIEW_MIX_STEPS_H

#include "reader/order/mix.h"

/* The positions of each source in a table. The table has the source of each step, for `period`
 * steps. `places` has the positions of source 0 in it, then those of source 1, and so on. The
 * positions of source i are at places[firsts[i]] to places[firsts[i + 1] - 1]. */
struct mix_places {
    uint64_t period;
    uint32_t *firsts, *places;
};

struct mix_steps {
    const struct mix *mix;
    struct order order;
    uint64_t rounds;
    /* The positions of each source in the table of sources. In a mix with weights, there is one
     * element for each stage, a part of the training run with weights of its own. In a mix without
     * weights, there is one element, for the block of steps that was computed last. */
    struct mix_places *places;
    struct mix_turns turns;         /* sources of the steps of one lane, without weights */
    uint64_t *drawn;                /* number of draws from each source before this block */
    /* For a mix without weights: element i is the number of the lane that draws the first sample of
     * the epoch from source i. */
    uint64_t *first_lanes;
};

/* Prepares *steps, from which the functions below compute the steps of draws. *steps keeps the
 * pointer `mix`. mix_check must have returned SHEAF_OK for this mix and this order. */
int mix_steps_begin(struct mix_steps *steps, const struct mix *mix, const struct order *order,
                    struct sheaf_error *err);
void mix_steps_free(struct mix_steps *steps);

/* Finds the draws that a lane (a sequence of samples) makes from a source in the epoch. Sets *first
 * to the number of the lane's first draw, and *end to the number after its last draw. If there are
 * weights, draws are counted from the beginning of the run, and otherwise from the beginning of the
 * epoch. */
void mix_steps_draws(const struct mix_steps *steps, uint32_t lane, size_t source, uint64_t *first,
                     uint64_t *end);

/* The epoch of a view may draw from several epochs of a source. Sets *first and *last to the
 * numbers of the first and the last of these source epochs. Returns false if the epoch of the view
 * does not draw from the source. */
bool mix_steps_epochs(const struct mix_steps *steps, size_t source, uint64_t *first,
                      uint64_t *last);

/* Returns the stretch (range of samples) that a lane (a sequence of samples) reads in epoch
 * `source_epoch` of a source. Sets *draw to the number of the lane's first draw from the stretch,
 * and `before` in the result to 0. */
struct mix_stretch mix_steps_lane_stretch(const struct mix_steps *steps, uint32_t lane,
                                          size_t source, uint64_t source_epoch, uint64_t *draw);
/* Finds the lane (a sequence of samples) that draws the sample at position `place` of a source's
 * epoch. Sets *input to the position of the sample in the range of samples that this lane reads.
 * Returns false if this epoch of the view does not draw the sample. */
bool mix_steps_lane_of(const struct mix_steps *steps, size_t source, uint64_t source_epoch,
                       uint64_t place, uint32_t *lane, uint64_t *input);

/* Sets *step to the step at which a lane (a sequence of samples) makes draw number `draw` from a
 * source. This number must be in the range that mix_steps_draws sets. Calls for a lane are fastest
 * in ascending order of the draws. Returns SHEAF_OK or SHEAF_ERR_MEMORY. */
int mix_steps_find(struct mix_steps *steps, uint32_t lane, size_t source, uint64_t draw,
                   uint64_t *step, struct sheaf_error *err);

#endif
