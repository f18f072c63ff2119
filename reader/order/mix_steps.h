/* SPDX-License-Identifier: MIT
 *
 * The inverse of mix.h. Finds the step of an epoch at which a lane makes a given draw, and the lane
 * that draws a given sample of a source.
 *
 *     place on the line of a source epoch --> lane, its draw d --places of the table--> step
 *
 * The turns of the lanes are not replayed. For each table, the positions of each source's entries
 * are known. So counting a source's draws is a binary search, and finding a draw is arithmetic. If
 * there are no weights, only the block of steps that contains the draw is computed. */
#ifndef READER_VIEW_MIX_STEPS_H
#define READER_VIEW_MIX_STEPS_H

#include "reader/order/mix.h"

/* The entries of a table, grouped by source. The entries of source i are places[firsts[i]] up to
 * places[firsts[i + 1] - 1]. */
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

/* Finds the epochs of the source from which the view's epoch draws: from *first to *last. Returns
 * false if the epoch draws nothing from the source. */
bool mix_steps_epochs(const struct mix_steps *steps, size_t source, uint64_t *first,
                      uint64_t *last);

/* Returns the range of samples ("stretch", with .before set to 0) that a lane reads in one epoch of
 * a source, and the number of the first draw from this range. */
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
