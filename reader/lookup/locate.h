/* SPDX-License-Identifier: MIT
 *
 * Finds the steps of an epoch at which given samples are returned. This header has the functions
 * that data sets and views share.
 *
 * The search follows a sample in the direction in which the epoch reads it. From the sample's
 * number follows its position in the line (the epoch's sequence of samples before shuffling). From
 * the position follow the lane that reads the sample and the sample's input, which is its position
 * in the lane's part of the line. All of this is arithmetic. The step at which a lane returns an
 * input depends on all earlier draws from its shuffle buffer, so the lane's random generator is run
 * from its start (locate_replay.c). */
#ifndef READER_LOOKUP_LOCATE_H
#define READER_LOOKUP_LOCATE_H

#include "reader/dataset/dataset.h"
#include "reader/order/shuffle.h"

/* An input of a lane whose step is wanted. */
struct locate_target {
    uint32_t lane;
    uint64_t input;
    size_t asked;               /* index of the requested number */
    /* the step at which the lane returns the sample; UINT64_MAX if it returns the sample at none of
     * the steps before the limit */
    uint64_t step;
};

struct targets {
    struct locate_target *list;
    size_t count, capacity;
};

int targets_add(struct targets *targets, uint32_t lane, uint64_t input, size_t asked,
                struct sheaf_error *err);
/* Sorts the targets by lane, then by input. */
void targets_sort(struct targets *targets);
/* Counts the requested samples ("targets") that are in the same lane as `first`, beginning with
 * `first`. Returns 0 at the end. */
size_t targets_of_lane(const struct locate_target *first, const struct locate_target *end);

/* Finds the steps at which one lane returns the requested samples ("targets"). Ignores steps from
 * `limit` on. The targets must be sorted by their position in the lane. `shuffle` must be at its
 * start. */
int locate_replay(const struct shuffle *shuffle, struct locate_target *targets, size_t count,
                  uint64_t limit, struct sheaf_error *err);

/* The results. */
struct comings {
    struct order order;
    struct order_member member;
    struct sheaf_coming *list;
    size_t count, capacity;
};

/* Adds a result: the lane returns the requested sample at this step of the epoch. */
int comings_add(struct comings *comings, uint32_t lane, uint64_t step, size_t asked,
                struct sheaf_error *err);

/* Finds when samples of a view occur in an epoch. The results are in no particular order. */
int locate_in_view(const struct sheaf_dataset *dataset, const uint64_t *numbers, size_t count,
                   struct comings *comings, struct sheaf_error *err);

#endif
