/* SPDX-License-Identifier: MIT
 *
 * Foresees when each sample of a lane's shuffle buffer will be drawn.
 *
 *     steps:   ... drawn | now ...... what is in a slot is drawn at one of these ...... | seen
 *
 * A second shuffle, on numbers, runs a span of steps before the lane's own.  Where the memory has
 * no room for the whole buffer, it is thus known which samples can wait longest.  Pure, like
 * shuffle.h. */
#ifndef READER_FORESIGHT_H
#define READER_FORESIGHT_H

#include "reader/order/shuffle.h"

#define FORESIGHT_LATER UINT32_MAX      /* a step after those that are seen */

struct foresight {
    struct shuffle ahead;           /* after step `seen` */
    uint32_t now, seen, span;       /* steps; now <= seen <= now + span */
    uint32_t *drawn;                /* the step that draws what is in a slot, or is about to be */
    /* Of the slots after step `seen`: the step at which what is in one came (0: it was there), and
     * in which slot it is, or will be, until no more inputs come. */
    uint32_t *came, *origin;
    uint32_t *coming;               /* by step % span: when is drawn what comes in at it? */
};

/* What it takes for a buffer of so many slots. */
uint64_t foresight_bytes(uint64_t slots);
/* Whether the numbers of a lane's steps are small enough. */
bool foresight_is_possible(const struct shuffle *shuffle);

/* From where the shuffle is. */
int foresight_open(struct foresight *f, const struct shuffle *shuffle, struct sheaf_error *err);
void foresight_close(struct foresight *f);

/* The lane has taken this step. */
void foresight_step(struct foresight *f, const struct shuffle_step *step);

#endif
