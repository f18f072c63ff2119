/* SPDX-License-Identifier: MIT
 *
 * Chooses which samples of a lane's shuffle buffer are in memory. It is used if memory has no room
 * for all samples, and a sample cannot be read without its neighbours because they are compressed
 * together.
 *
 *     drawn at:  now ........ far ................ seen, or later
 *                | in memory, or coming | a number              |
 *
 * order/foresight.h tells at which step each sample is drawn. Samples drawn up to step FAR are
 * wanted. The queue leaves out the other samples as it reads along the line. When few steps are
 * left before FAR, it is moved on as far as memory allows. The samples that are then wanted are
 * read at once, so that a block is decompressed once for all of them, and not once for each.
 *
 * Used only on the planning thread. */
#ifndef READER_HORIZON_H
#define READER_HORIZON_H

#include "reader/load/loader.h"
#include "reader/order/foresight.h"
#include "reader/order/sequence.h"

struct horizon {
    struct foresight foresight;     /* .drawn is NULL if there is no foresight, and all samples
                                       are wanted */
    struct sequence *sequence;
    const struct order_line *line;
    struct ref *slots;              /* the lane's */
    uint64_t slot_count;
    uint64_t most, held;            /* samples in slots: most that may be in memory, and those
                                       that are */
    uint32_t far;
    uint32_t due;                   /* the step at which FAR is moved on */
};

/* Returns the memory that a horizon takes for a lane of `slots` slots. */
uint64_t horizon_bytes(uint64_t slots);

/* Begins at the current state of the shuffle if the lane is worth it. `most` is the number of
 * samples that may be in memory. The other fields must be set. */
int horizon_open(struct horizon *horizon, const struct shuffle *shuffle, uint64_t most,
                 struct sheaf_error *err);
void horizon_close(struct horizon *horizon);

/* Returns whether the step is known at which a position is drawn that has no slot yet.
 * horizon_wants then returns whether the position's sample is wanted. */
bool horizon_knows(const struct horizon *horizon, uint64_t position);
bool horizon_wants(const struct horizon *horizon, uint64_t position);

/* Records a step of the lane. `ref` is what the step has drawn. */
void horizon_step(struct horizon *horizon, const struct shuffle_step *step,
                  const struct ref *ref);
/* Records that a sample or a number entered a slot. */
static inline void horizon_came(struct horizon *h, const struct ref *ref)
{
    h->held += ref->item != NULL;
}

/* Moves FAR on if that is due, and begins to read the samples that are now wanted. */
void horizon_go_on(struct horizon *horizon, struct loader *loader);

#endif
