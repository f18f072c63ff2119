/* SPDX-License-Identifier: MIT
 *
 * Computes in advance when each sample in a lane's shuffle buffer will be drawn.
 *
 * For this purpose, a second shuffle, which is a copy of the lane's shuffle and works on numbers
 * only, runs ahead of the lane by a fixed number of steps, the span. It has thus made the draws of
 * the lane's next `span` steps. If memory has no room for all samples of the buffer, these draws
 * show which samples can be left out of memory for now, because they are needed last. Like
 * shuffle.h, the functions have no side effects. */
#ifndef READER_FORESIGHT_H
#define READER_FORESIGHT_H

#include "reader/order/shuffle.h"

#define FORESIGHT_LATER UINT32_MAX      /* a step after the foreseen ones */

struct foresight {
    struct shuffle ahead;           /* the second shuffle, after step `seen` */
    uint32_t now, seen, span;       /* steps; now <= seen <= now + span */
    uint32_t *drawn;                /* for each slot: the step that draws its sample */
    /* The second shuffle is the copy of the lane's shuffle that runs ahead. For each of its slots,
     * `came` is the step at which the sample in the slot entered the buffer, or 0 if it was there
     * at the start. `origin` is the slot of the lane's own buffer into which this sample comes or
     * has come. */
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
