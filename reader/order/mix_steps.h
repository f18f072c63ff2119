/* SPDX-License-Identifier: MIT
 *
 * The inverse of a lane's turns (mix.h): finds the step of an epoch at which a lane makes a given
 * draw, and the lane that draws a given place on a source's line.
 *
 *     place on the line of a source epoch --> lane, its draw d --places of the table--> step
 *
 * The turns are not replayed. For each table it is known where each source's entries are, so
 * counting a source's draws is a binary search, and finding a draw is arithmetic. Without weights,
 * only the block that has the draw is computed. */
#ifndef READER_VIEW_MIX_STEPS_H
#define READER_VIEW_MIX_STEPS_H

#include "reader/order/mix.h"

/* The entries of a table, grouped by source. Those of source i are places[firsts[i]] to
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
    uint64_t *first_lanes;          /* without weights: the lane of each source's first draw in
                                       the epoch */
};

/* `mix` is borrowed. mix_check must have accepted it with this order. */
int mix_steps_begin(struct mix_steps *steps, const struct mix *mix, const struct order *order,
                    struct sheaf_error *err);
void mix_steps_free(struct mix_steps *steps);

/* Finds the draws of a lane from a source in the epoch: *first to *end - 1, counted as in
 * mix_turns_begin. */
void mix_steps_draws(const struct mix_steps *steps, uint32_t lane, size_t source, uint64_t *first,
                     uint64_t *end);

/* Finds the source epochs from which the epoch draws: *first to *last. Returns false if it draws
 * nothing from the source. */
bool mix_steps_epochs(const struct mix_steps *steps, size_t source, uint64_t *first,
                      uint64_t *last);

/* Returns the stretch of a lane in a source epoch, with .before 0, and the number of its first
 * draw. */
struct mix_stretch mix_steps_lane_stretch(const struct mix_steps *steps, uint32_t lane,
                                          size_t source, uint64_t source_epoch, uint64_t *draw);
/* Finds the lane that has this place of a source epoch in its stretch, and the place's number in
 * the stretch. Returns false if the epoch does not have the place. */
bool mix_steps_lane_of(const struct mix_steps *steps, size_t source, uint64_t source_epoch,
                       uint64_t place, uint32_t *lane, uint64_t *input);

/* Finds the step at which a lane makes a draw, which must be one that mix_steps_draws counts.
 * Asking for the draws of one lane in ascending order is fastest. Returns SHEAF_OK or
 * SHEAF_ERR_MEMORY. */
int mix_steps_find(struct mix_steps *steps, uint32_t lane, size_t source, uint64_t draw,
                   uint64_t *step, struct sheaf_error *err);

#endif
