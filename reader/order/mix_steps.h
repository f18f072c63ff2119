/* SPDX-License-Identifier: MIT
 *
 * The inverse of a lane's turns (mix.h): at which step of an epoch a lane makes a draw, and in
 * which lane a place on a source's line is drawn.
 *
 *     place on the line of a source epoch --> lane, its draw d --places of the table--> step
 *
 * The turns are not walked.  Of each table it is known where each source's entries are, so that
 * counting a source's draws is a binary search, and finding a draw is arithmetic.  Without weights
 * the block that has the draw is computed, and the table of that block alone is made. */
#ifndef READER_VIEW_MIX_STEPS_H
#define READER_VIEW_MIX_STEPS_H

#include "reader/order/mix.h"

/* The entries of a table by source: those of source i are at firsts[i] .. firsts[i + 1] - 1. */
struct mix_places {
    uint64_t period;
    uint32_t *firsts, *places;
};

struct mix_steps {
    const struct mix *mix;
    struct order order;
    uint64_t rounds;
    struct mix_places *places;      /* of each stage; or of one block, that of: */
    struct mix_turns turns;         /* this lane, without weights; */
    uint64_t *drawn;                /* before its block */
    uint64_t *first_lanes;          /* of each source's first draw of the epoch, without weights */
};

/* `mix` is borrowed, and was checked with this order. */
int mix_steps_begin(struct mix_steps *steps, const struct mix *mix, const struct order *order,
                    struct sheaf_error *err);
void mix_steps_free(struct mix_steps *steps);

/* The draws of a lane from a source in the epoch are *first .. *end - 1, counted as mix_turns_begin
 * does. */
void mix_steps_draws(const struct mix_steps *steps, uint32_t lane, size_t source, uint64_t *first,
                     uint64_t *end);

/* The source epochs that the epoch draws from: *first .. *last; false: it draws nothing. */
bool mix_steps_epochs(const struct mix_steps *steps, size_t source, uint64_t *first,
                      uint64_t *last);

/* The stretch of a lane in a source epoch, with .before 0, and the draw that it begins with. */
struct mix_stretch mix_steps_lane_stretch(const struct mix_steps *steps, uint32_t lane,
                                          size_t source, uint64_t source_epoch, uint64_t *draw);
/* The lane that has this place of a source epoch as an input of its stretch; false: the epoch does
 * not have the place. */
bool mix_steps_lane_of(const struct mix_steps *steps, size_t source, uint64_t source_epoch,
                       uint64_t place, uint32_t *lane, uint64_t *input);

/* The step at which a lane makes a draw that mix_steps_draws gives.  Draws of one lane are best
 * asked for in ascending order.  SHEAF_ERR_MEMORY. */
int mix_steps_find(struct mix_steps *steps, uint32_t lane, size_t source, uint64_t draw,
                   uint64_t *step, struct sheaf_error *err);

#endif
