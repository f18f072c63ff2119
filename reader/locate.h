/* SPDX-License-Identifier: MIT
 *
 * Finds the steps of an epoch at which given samples are returned. The functions in this header are
 * used for views (mixes of data sets) and for other data sets.
 *
 * The sequence of all samples before shuffling is called the line. The line is divided among lanes.
 * The number of a sample determines its position in the line, and so its lane and its position in
 * this lane.
 *
 * Each lane has a shuffle buffer. The step at which the lane returns a sample depends on all
 * earlier draws from this buffer. So all draws of the lane are computed from its start
 * (locate_replay.c). */
#ifndef READER_LOCATE_H
#define READER_LOCATE_H

#include "reader/dataset/dataset.h"
#include "reader/order/shuffle.h"

/* A search for the step at which a lane (a sequence of samples) returns a certain sample. `lane` is
 * the number of the lane. `input` is the number of the sample within the lane, before shuffling. */
struct locate_target {
    uint32_t lane;
    uint64_t input;
    size_t asked;               /* index of the requested number */
    /* The step at which the lane (a sequence of samples) returns the sample. UINT64_MAX if the lane
     * does not return it before the step at which the search ends. */
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
/* A target is a sample whose step is to be found. The targets from `first` up to `end` are sorted
 * by lane (a sequence of samples). Returns the number of targets that are in the same lane as
 * `first`, or 0 if `first` is equal to `end`. */
size_t targets_of_lane(const struct locate_target *first, const struct locate_target *end);

/* Finds the steps at which a lane (a sequence of samples) returns the requested samples
 * ("targets"). Steps from `limit` on are not considered. All targets must be in this lane, and
 * sorted by their position in it. `shuffle` must be in its state at the start of the lane. */
int locate_replay(const struct shuffle *shuffle, struct locate_target *targets, size_t count,
                  uint64_t limit, struct sheaf_error *err);

/* The results of a search: the steps at which samples are returned. */
struct comings {
    struct order order;
    struct order_member member;
    struct sheaf_coming *list;
    size_t count, capacity;
};

/* Adds a result to the list: the lane `lane` (a sequence of samples) returns the requested sample
 * at step `step` of the epoch. `asked` is the index of the request. */
int comings_add(struct comings *comings, uint32_t lane, uint64_t step, size_t asked,
                struct sheaf_error *err);

/* These two functions find the steps of an epoch at which the samples are returned, and add the
 * results to `comings` in any order. locate_in_view is for views (mixes of data sets), and
 * locate_in_set for all other data sets. */
int locate_in_set(const struct sheaf_dataset *dataset, const uint64_t *numbers, size_t count,
                  struct comings *comings, struct sheaf_error *err);
int locate_in_view(const struct sheaf_dataset *dataset, const uint64_t *numbers, size_t count,
                   struct comings *comings, struct sheaf_error *err);

#endif
