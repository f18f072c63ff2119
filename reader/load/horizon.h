/* SPDX-License-Identifier: MIT
 *
 * Decides which samples of a lane's shuffle buffer are in memory. (A lane is a sequence of
 * samples.) Used if the data is compressed and memory has no room for all samples of the buffer.
 * If a sample is not in memory, the buffer has only its number.
 *
 * order/foresight.h computes at which step (draw) each sample will be drawn. Samples that will be
 * drawn up to a certain step, FAR, should be in memory. When few steps are left before FAR, FAR is
 * set to a later step, as far as memory allows. The samples up to the new FAR are then read
 * together. So a compressed block is decompressed once for all its samples, and not once for each.
 *
 * Used only on the planning thread, the thread that calls the reader. */
#ifndef READER_HORIZON_H
#define READER_HORIZON_H

#include "reader/load/queue.h"
#include "reader/order/foresight.h"

struct horizon {
    /* Computes at which step each sample will be drawn. If foresight.drawn is NULL, this is not
     * known, and all samples should be in memory. */
    struct foresight foresight;
    struct ref *slots;              /* slots of the lane's shuffle buffer */
    uint64_t slot_count;
    uint64_t most;      /* largest number of samples of the shuffle buffer that may be in memory */
    uint32_t far;
    uint32_t due;                   /* step at which FAR is moved forward */
};

/* Returns the memory in bytes that a struct horizon needs if the shuffle buffer has room for
 * `slots` samples. */
uint64_t horizon_bytes(uint64_t slots);

/* Begins to compute the coming draws of a lane (a sequence of samples), from the present state of
 * its shuffle. Does nothing if the shuffle buffer is very small, or if the numbers of the lane's
 * steps do not fit into 32 bits. `most` is the largest number of samples that may be in memory. The
 * caller must have set the fields for the slots, and must close horizon->foresight afterwards. */
int horizon_open(struct horizon *horizon, const struct shuffle *shuffle, uint64_t most,
                 struct sheaf_error *err);

/* The next two functions are for a sample that has not entered the shuffle buffer yet. `position`
 * is its position in the sequence of the queue, which must have a horizon. horizon_knows returns
 * true if the step at which the sample will be drawn is already computed. Only then may
 * horizon_wants be called, which returns true if the sample should be in memory. */
bool horizon_knows(const struct queue *queue, uint64_t position);
bool horizon_wants(const struct queue *queue, uint64_t position);

/* FAR is the last step (draw) whose sample should be in memory. If few steps are left before FAR,
 * sets FAR to a later step. Then begins to read the samples that will be drawn up to FAR and are
 * not in memory. */
void horizon_go_on(struct loader *loader, struct queue *queue);

#endif
