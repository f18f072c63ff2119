/* SPDX-License-Identifier: MIT
 *
 * Computes in advance at which step each sample in the shuffle buffer of a lane (a sequence of
 * samples) will be drawn. For this purpose, a second shuffle has already made the next `span` draws
 * of the lane. The second shuffle is a copy of the lane's own shuffle, and works with numbers only.
 *
 * If memory has no room for all samples of the buffer, the samples that will be drawn last can be
 * left out of memory for now. The functions have no side effects. */
#ifndef READER_FORESIGHT_H
#define READER_FORESIGHT_H

#include "reader/order/shuffle.h"

#define FORESIGHT_LATER UINT32_MAX      /* stands for a step that is not computed yet */

struct foresight {
    struct shuffle ahead;           /* the second shuffle, after step `seen` */
    /* `now` is the number of draws (steps) that the lane has made. `seen` is the number of draws
     * that the second shuffle has made. `seen` is at most `now` + `span`. */
    uint32_t now, seen, span;
    uint32_t *drawn;                /* for each slot: the step that draws its sample */
    /* State of the second shuffle, which makes the same draws as the lane's shuffle, but some steps
     * earlier. Each array has one element for each slot of the second shuffle's buffer. `came` is
     * the step at which the sample in the slot enters the buffer, or 0 if the sample is there from
     * the start. `origin` is the slot of the same sample in the lane's own buffer. */
    uint32_t *came, *origin;
    /* For a sample that enters the buffer at step s, coming[s % span] is the step at which this
     * sample will be drawn. */
    uint32_t *coming;
};

/* Returns the memory in bytes for a struct foresight, if the shuffle buffer has `slots` slots. */
uint64_t foresight_bytes(uint64_t slots);
/* Returns whether the lane's steps fit into 32 bits. */
bool foresight_is_possible(const struct shuffle *shuffle);

/* Begins at the current state of `shuffle`. */
int foresight_open(struct foresight *f, const struct shuffle *shuffle, struct sheaf_error *err);
void foresight_close(struct foresight *f);

/* Records that the lane has taken this step. */
void foresight_step(struct foresight *f, const struct shuffle_step *step);

#endif
