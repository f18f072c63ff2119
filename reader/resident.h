/* SPDX-License-Identifier: MIT
 *
 * Chooses which samples of a lane's shuffle buffer are in memory, where that has no room for all
 * and a sample cannot be read without its neighbours, since they are compressed together.
 *
 *     drawn at:  now ........ far ................ seen, or later
 *                | in memory  | where there is room, else deferred |
 *
 * Each lane has an equal part of the heap.  When each sample is drawn is known (foresight.h), so
 * what is drawn last is what waits as a number.  A sample that comes in and is drawn before `far`
 * takes the place of one that is drawn after it.
 * When little is left before `far`, all that is drawn next is recalled at once, as much as there is
 * room for: so a block is unpacked once for all samples of it that are wanted then, and not once
 * for each.
 *
 * Of the planning thread. */
#ifndef READER_RESIDENT_H
#define READER_RESIDENT_H

#include "reader/deferred.h"
#include "reader/foresight.h"

struct resident {
    struct foresight foresight;     /* .drawn NULL: of none, and what has no room is deferred */
    struct item *slots;             /* the lane's */
    uint64_t slot_count;
    uint64_t deferred;              /* items in slots that are */
    uint64_t held_bytes;            /* in the heap, for the others and what is recalled */
    uint32_t far;
    uint32_t due;                   /* the step at which it is time to recall what is drawn next */
    uint64_t cursor;                /* the slot that is looked at next for one to be deferred */
};

/* What foresight takes, for a lane of so many slots. */
uint64_t resident_bytes(uint64_t slots);

/* Gives it foresight from where the shuffle is, if it is worth that. */
int resident_open(struct resident *r, const struct shuffle *shuffle, struct sheaf_error *err);
void resident_close(struct resident *r);

/* An item has come into the slot, perhaps still in its chunk: it gets a piece of the heap, or is
 * deferred. */
void resident_settle(struct resident *r, struct feed *feed, uint64_t slot);

/* The lane has taken this step, which emitted the item. */
void resident_step(struct resident *r, const struct shuffle_step *step, const struct item *item);

/* Recalls what is drawn next, if it is time to. */
void resident_recall(struct resident *r, struct feed *feed, struct recalls *recalls);

#endif
