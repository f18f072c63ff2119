/* SPDX-License-Identifier: MIT
 *
 * Chooses which samples of a lane's shuffle buffer are in memory, if memory has no room for all of
 * them, and if a sample cannot be read alone because it is compressed together with its neighbours.
 *
 * order/foresight.h tells at which step each sample will be drawn from the buffer. A sample that
 * will be drawn before the step FAR is wanted in memory. For a sample that will be drawn later, the
 * buffer holds only the sample's number, and the queue skips the sample when it reads ahead. When
 * few steps are left before FAR, FAR is moved on as far as memory allows. The samples that are then
 * wanted are read together, so that a block is decompressed once for all of them, and not once for
 * each.
 *
 * Used only on the planning thread. */
#ifndef READER_HORIZON_H
#define READER_HORIZON_H

#include "reader/load/loader.h"
#include "reader/order/foresight.h"
#include "reader/order/sequence.h"

struct horizon {
    /* Tells when the samples will be drawn. If foresight.drawn is NULL, the draws are not known in
     * advance, and all samples are wanted in memory. */
    struct foresight foresight;
    struct sequence *sequence;
    const struct order_line *line;
    struct ref *slots;              /* the lane's */
    uint64_t slot_count;
    /* `most` is the number of samples of the shuffle buffer that may be in memory. `held` is the
     * number of samples that are in memory now. */
    uint64_t most, held;
    uint32_t far;
    uint32_t due;                   /* the step at which FAR is moved on */
};

/* Returns the memory that a horizon needs for a lane whose shuffle buffer holds `slots` samples. */
uint64_t horizon_bytes(uint64_t slots);

/* Begins to compute the next draws of a lane's shuffle, from its present state. Does nothing if
 * this is not worth its memory, or not possible. `most` is the number of samples that may be in
 * memory. The caller must have set the other fields. */
int horizon_open(struct horizon *horizon, const struct shuffle *shuffle, uint64_t most,
                 struct sheaf_error *err);
void horizon_close(struct horizon *horizon);

/* Called for a sample that has not entered the shuffle buffer yet, at `position` of the lane's
 * sequence. Returns whether it is known when the sample will be drawn. If so, horizon_wants returns
 * whether the sample is wanted in memory. */
bool horizon_knows(const struct horizon *horizon, uint64_t position);
bool horizon_wants(const struct horizon *horizon, uint64_t position);

/* Records that the lane has drawn a sample. `ref` refers to the sample in memory, or has only its
 * number. */
void horizon_step(struct horizon *horizon, const struct shuffle_step *step,
                  const struct ref *ref);
/* Records that a sample, or only its number, was put into the shuffle buffer. */
static inline void horizon_came(struct horizon *h, const struct ref *ref)
{
    h->held += ref->item != NULL;
}

/* Begins to read the samples that will be drawn before the step FAR, up to which samples are wanted
 * in memory. If few steps are left before FAR, first moves FAR to a later step. */
void horizon_go_on(struct horizon *horizon, struct loader *loader);

#endif
