/* SPDX-License-Identifier: MIT
 *
 * Chooses which samples of a lane's shuffle buffer are in memory, where that has no room for all
 * and a sample cannot be read without its neighbours, since they are compressed together.
 *
 *     drawn at:  now ........ far ................ seen, or later
 *                | in memory, or coming | a number              |
 *
 * When each sample is drawn is known (order/foresight.h).  What is drawn up to the step FAR is
 * wanted: as the line passes, the queue leaves out what is not.  When little is left before far,
 * it is set further on, as far as the memory reaches, and what lies before it is read at once, so
 * that a block is unpacked once for all samples of it that are wanted then, and not once for each.
 *
 * Of the planning thread. */
#ifndef READER_HORIZON_H
#define READER_HORIZON_H

#include "reader/load/loader.h"
#include "reader/order/foresight.h"
#include "reader/order/sequence.h"

struct horizon {
    struct foresight foresight;     /* .drawn NULL: there is none, and all is wanted */
    struct sequence *sequence;
    const struct order_line *line;
    struct ref *slots;              /* the lane's */
    uint64_t slot_count;
    uint64_t most, held;            /* samples in slots: that may be in memory, and are */
    uint32_t far;
    uint32_t due;                   /* the step at which it is set further on */
};

/* What it takes, for a lane of so many slots. */
uint64_t horizon_bytes(uint64_t slots);

/* Begins it where the shuffle is, if it is worth that: `most` samples may be in memory.  The rest
 * of it is set. */
int horizon_open(struct horizon *horizon, const struct shuffle *shuffle, uint64_t most,
                 struct sheaf_error *err);
void horizon_close(struct horizon *horizon);

/* Whether it is known when a position that is not taken yet is drawn; and whether it is wanted. */
bool horizon_knows(const struct horizon *horizon, uint64_t position);
bool horizon_wants(const struct horizon *horizon, uint64_t position);

/* The lane has taken this step; `ref` is what it has drawn. */
void horizon_step(struct horizon *horizon, const struct shuffle_step *step,
                  const struct ref *ref);
/* Something came into a slot. */
static inline void horizon_came(struct horizon *h, const struct ref *ref)
{
    h->held += ref->item != NULL;
}

/* Sets it further on, if it is time to, and begins to read what that brings. */
void horizon_go_on(struct horizon *horizon, struct loader *loader);

#endif
