/* SPDX-License-Identifier: MIT
 *
 * The inverse of mix.h. Finds the lane that draws a given sample of a source, the number of this
 * draw, and the step of the epoch at which the lane makes the draw.
 *
 * With weights, a table repeats over the steps of a lane and names the source of each step. For
 * each source, the positions of its entries in the table are known. So counting a source's draws is
 * a binary search, and finding a draw is arithmetic; the steps before it are not gone through. If
 * there are no weights, only the block of steps that contains the draw is computed. */
#ifndef READER_VIEW_MIX_STEPS_H
#define READER_VIEW_MIX_STEPS_H

#include "reader/order/mix.h"

/* A table has the source of each step, for `period` steps. `places` has the positions of the
 * table's entries, grouped by source. The positions for source i begin at places[firsts[i]], and
 * end before places[firsts[i + 1]]. */
struct mix_places {
    uint64_t period;
    uint32_t *firsts, *places;
};

struct mix_steps {
    const struct mix *mix;
    struct order order;
    uint64_t rounds;
    struct mix_places *places;      /* of each stage; without weights, of one block of */
    struct mix_turns turns;         /* this lane's turns; */
    uint64_t *drawn;                /* draws before that block */
    /* for a mix without weights: the lane that makes the first draw from each source in the
     * epoch */
    uint64_t *first_lanes;
};

/* Begins to compute steps. `mix` is borrowed. mix_check must have accepted it together with this
 * order. */
int mix_steps_begin(struct mix_steps *steps, const struct mix *mix, const struct order *order,
                    struct sheaf_error *err);
void mix_steps_free(struct mix_steps *steps);

/* Sets *first and *end to the range of a lane's draws from a source in the epoch. *end is not
 * included. As in mix_turns_begin, draws are counted from the beginning of the run if there are
 * weights, otherwise from the beginning of the epoch. */
void mix_steps_draws(const struct mix_steps *steps, uint32_t lane, size_t source, uint64_t *first,
                     uint64_t *end);

/* Sets *first and *last to the first and the last epoch of a source from which the present epoch of
 * the view draws. Returns false if the view's epoch draws nothing from the source. */
bool mix_steps_epochs(const struct mix_steps *steps, size_t source, uint64_t *first,
                      uint64_t *last);

/* Returns the stretch (range of samples) that a lane reads in epoch `source_epoch` of a source. Its
 * member .before is 0. Sets *draw to the number of the lane's first draw from the stretch. */
struct mix_stretch mix_steps_lane_stretch(const struct mix_steps *steps, uint32_t lane,
                                          size_t source, uint64_t source_epoch, uint64_t *draw);
/* Finds the lane that draws the sample at position `place` of a source's epoch, and the sample's
 * number in the range of samples that this lane reads. Returns false if the view's epoch does not
 * draw this sample. */
bool mix_steps_lane_of(const struct mix_steps *steps, size_t source, uint64_t source_epoch,
                       uint64_t place, uint32_t *lane, uint64_t *input);

/* Finds the step at which a lane makes a draw. The draw must be in the range that mix_steps_draws
 * returns. Calls for the draws of one lane in ascending order are fastest. Returns SHEAF_OK or
 * SHEAF_ERR_MEMORY. */
int mix_steps_find(struct mix_steps *steps, uint32_t lane, size_t source, uint64_t draw,
                   uint64_t *step, struct sheaf_error *err);

#endif
