/* SPDX-License-Identifier: MIT
 *
 * Computes which sample each step of a lane (a sequence of samples) returns in an epoch. Works with
 * numbers only, and does not read samples. Each order has a replay of its own. */
#ifndef READER_ORDER_REPLAY_H
#define READER_ORDER_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sheaf.h"

/* The sample that a lane (a sequence of samples) returns at a step. */
struct replayed {
    size_t source;
    /* number of the sample among the chosen samples of its source */
    uint64_t rank;
    uint64_t number;                /* number of the sample in the data set */
    /* true if this sample is returned again at the end of the epoch, because its host has fewer
     * samples than other hosts */
    bool comes_again;
};

/* The first member of the struct of each kind of replay. */
struct order_replay {
    uint64_t samples;               /* number of samples in an epoch */
    size_t source_count;            /* 1 if the data set is not a view (a mix of data sets) */
    /* Returns the number of samples that an epoch can draw from a source. */
    uint64_t (*chosen)(const struct order_replay *replay, size_t source);
    /* Sets *sample to the sample that the next step of the lane (a sequence of samples) returns.
     * Returns SHEAF_END at the end of the lane. In a view (a mix of data sets), a sample that pads
     * the lane is not included. */
    int (*next)(struct order_replay *replay, uint32_t lane, struct replayed *sample,
                struct sheaf_error *err);
    void (*free)(struct order_replay *replay);
};

#endif
