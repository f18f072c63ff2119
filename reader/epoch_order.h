/* SPDX-License-Identifier: MIT
 *
 * The two orders of an epoch (reader/ORDER.md), as tables of functions. epoch.c takes samples from
 * the lanes by calling these functions, so it is the same for both orders. In the order of a data
 * set (epoch_order_set.c), the samples form one sequence before shuffling, and each lane reads one
 * range of it. In the order of a view (mixing.c), each lane draws from several sources, and each
 * source has such a sequence.
 *
 * All functions run on the caller's thread. */
#ifndef READER_EPOCH_ORDER_H
#define READER_EPOCH_ORDER_H

#include "reader/reader_state.h"

/* A sample stays in the shuffle buffer for n draws on average, where n is the buffer's size. It
 * seldom stays for more than LONGEST_STAY * n draws. */
#define LONGEST_STAY 12u

struct epoch_order {
    /* Computes how many structs lane and structs queue the reader needs for its own lanes. */
    int (*count)(const struct sheaf_reader *r, uint32_t *lanes, size_t *queues,
                 struct sheaf_error *err);
    /* Makes the tables for the reader's lanes, and frees the earlier tables. The pointer `open` is
     * NULL in an order that needs no tables. */
    int (*open)(struct sheaf_reader *r);
    void (*free)(struct sheaf_reader *r);

    /* Begins the lanes for the epoch that r->load.order specifies. The epoch begins after `rounds`
     * rounds (in a round, each lane returns one sample). The first `extra` lanes begin one sample
     * later than the others. */
    int (*begin)(struct sheaf_reader *r, uint64_t rounds, uint64_t extra);
    /* Ends the epoch. Called after the lanes were cleared. */
    void (*end)(struct sheaf_reader *r);
    /* Returns the next sample of lane number `lane` of the reader. The results are the same as
     * those of lane_next. */
    int (*next)(struct sheaf_reader *r, uint32_t lane, struct ref *ref);
    /* Returns whether all lanes are known to have ended. */
    bool (*has_ended)(const struct sheaf_reader *r);

    /* Returns the epoch number from which the seeds of samples are computed. This is the epoch of
     * the source from which the last sample was drawn. */
    uint64_t (*source_epoch)(const struct sheaf_reader *r);
    /* Returns the number of samples that this reader reads in the epoch. */
    uint64_t (*samples)(const struct sheaf_reader *r);
    /* Returns the number of samples that the reader's lane number `lane` returns in the epoch,
     * including padding. */
    uint64_t (*steps)(const struct sheaf_reader *r, uint32_t lane);
    /* Returns the largest number of shards that the lanes have open at the same time. */
    uint64_t (*open_shards)(const struct sheaf_reader *r);
    /* Returns the number of rounds of an epoch. */
    uint64_t (*rounds)(const struct sheaf_dataset *dataset, const struct order *order);
};

extern const struct epoch_order epoch_order_set;        /* version 1 of the order */
extern const struct epoch_order epoch_order_view;       /* version 2 of the order */

#endif
