/* SPDX-License-Identifier: MIT
 *
 * When samples come in an epoch: what the orders of a data set and of a view have in common.  The
 * order is followed forward:
 *
 *     number -> place on a line -> lane and input -> step of the lane that emits it -> sample
 *
 * All but one step are arithmetic.  Which step of a lane emits an input depends on the draws before
 * it, so the lane's generator is run from its start (locate_replay.c). */
#ifndef READER_LOOKUP_LOCATE_H
#define READER_LOOKUP_LOCATE_H

#include "reader/dataset/dataset.h"
#include "reader/order/shuffle.h"

/* An input of a lane that is looked for. */
struct target {
    uint32_t lane;
    uint64_t input;
    size_t asked;               /* for which of the numbers */
    uint64_t step;              /* that emits it; UINT64_MAX: none before the limit */
};

struct targets {
    struct target *list;
    size_t count, capacity;
};

int targets_add(struct targets *targets, uint32_t lane, uint64_t input, size_t asked,
                struct sheaf_error *err);
/* By lanes, and by their inputs. */
void targets_sort(struct targets *targets);
/* How many targets from the first one on are of the same lane; 0: there is none. */
size_t targets_of_lane(const struct target *first, const struct target *end);

/* Finds the steps of one lane's sorted targets, among those before step `limit`.  `shuffle` is at
 * its start. */
int locate_replay(const struct shuffle *shuffle, struct target *targets, size_t count,
                  uint64_t limit, struct sheaf_error *err);

/* What is found. */
struct comings {
    struct order order;
    struct order_member member;
    struct sheaf_coming *list;
    size_t count, capacity;
};

/* A step of a lane emits what is asked for. */
int comings_add(struct comings *comings, uint32_t lane, uint64_t step, size_t asked,
                struct sheaf_error *err);

/* Finds the comings of samples of a view, in no order. */
int locate_in_view(const struct sheaf_dataset *dataset, const uint64_t *numbers, size_t count,
                   struct comings *comings, struct sheaf_error *err);

#endif
