/* SPDX-License-Identifier: MIT
 *
 * Computes in advance when each sample in a lane's shuffle buffer will be drawn.
 *
 *     steps:   ... drawn | now ...... samples in the slots are drawn in this span ...... | seen
 *
 * A second shuffle, which works on numbers only, runs a fixed number of steps (the span) ahead of
 * the lane's own shuffle. If memory has no room for the whole buffer, this shows which samples can
 * wait longest. Like shuffle.h, the functions have no side effects. */
#ifndef READER_FORESIGHT_H
#define READER_FORESIGHT_H

#include "reader/order/shuffle.h"

#define FORESIGHT_LATER UINT32_MAX      /* a step after the foreseen ones */

struct foresight {
    struct shuffle ahead;           /* the second shuffle, after step `seen` */
    uint32_t now, seen, span;       /* steps; now <= seen <= now + span */
    uint32_t *drawn;                /* for each slot: the step that draws its sample */
    /* Two numbers for each slot of the second shuffle. `came` is the step at which the sample in
     * the slot entered the buffer (0 if it was there at the start). `origin` is the slot in which
     * the lane's own buffer has, or will have, this sample. */
    uint32_t *came, *origin;
    /* coming[s % span] is for the input that enters the buffer at step s: the step at which this
     * input will be drawn */
    uint32_t *coming;
};

/* Returns the memory for foreseeing the draws of a shuffle buffer with `slots` slots. */
uint64_t foresight_bytes(uint64_t slots);
/* Returns whether the lane's steps fit into 32 bits. */
bool foresight_is_possible(const struct shuffle *shuffle);

/* Begins at the current state of `shuffle`. */
int foresight_open(struct foresight *f, const struct shuffle *shuffle, struct sheaf_error *err);
void foresight_close(struct foresight *f);

/* Records that the lane has taken this step. */
void foresight_step(struct foresight *f, const struct shuffle_step *step);

#endif
