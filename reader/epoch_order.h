/* SPDX-License-Identifier: MIT
 *
 * Tables of functions and values for the two orders of an epoch (reader/ORDER.md). epoch.c works
 * for both orders, because it calls only these functions. All of them run on the caller's thread.
 *
 * An epoch is divided into lanes, which are sequences of equal length.
 * - In the order of a data set (epoch_order_set.c), all samples form one sequence before shuffling,
 * and each lane reads one range of it.
 * - In the order of a view (mixing.c), each source has such a sequence of its own, and each lane
 * draws its samples from several sources. */
#ifndef READER_EPOCH_ORDER_H
#define READER_EPOCH_ORDER_H

#include "reader/order/order_replay.h"
#include "reader/reader_state.h"

struct comings;

/* A sample stays in a shuffle buffer of n samples for n draws on average. It seldom stays for more
 * than LONGEST_STAY * n draws. */
#define LONGEST_STAY 12u

struct epoch_order {
    /* Sets *lanes to the number of `struct lane` that the reader needs for its lanes (sequences of
     * samples), and *queues to the number of `struct queue`. */
    int (*count)(const struct sheaf_reader *r, uint32_t *lanes, size_t *queues,
                 struct sheaf_error *err);
    /* Makes the tables that the reader's lanes (sequences of samples) need in this order, and frees
     * earlier tables. `open` is NULL if the order needs no tables. */
    int (*open)(struct sheaf_reader *r);
    void (*free)(struct sheaf_reader *r);

    /* Begins the lanes (sequences of samples) of the epoch that r->load.order states. Each lane
     * leaves out its first `rounds` samples. The first `extra` lanes leave out one more sample. */
    int (*begin)(struct sheaf_reader *r, uint64_t rounds, uint64_t extra);
    /* Returns the memory in bytes for the tables of the lanes (sequences of samples) that `begin`
     * has begun, and for the tables of the order. The structs lane and queue are not included. */
    uint64_t (*table_bytes)(const struct sheaf_reader *r);
    /* Ends the epoch. Called after the lanes were cleared. */
    void (*end)(struct sheaf_reader *r);
    /* Sets *ref to the next sample of a lane (a sequence of samples). `lane` is the index of the
     * lane among the lanes of this reader. Returns the same codes as lane_next. */
    int (*next)(struct sheaf_reader *r, uint32_t lane, struct ref *ref);
    /* Returns whether all lanes are known to have ended. */
    bool (*has_ended)(const struct sheaf_reader *r);

    /* Returns the number of the source epoch from which the seed of the last sample is computed. In
     * a view (a mix of data sets), each source counts its own epochs. In any other data set, this
     * is the reader's epoch. */
    uint64_t (*source_epoch)(const struct sheaf_reader *r);
    /* Returns the number of samples of the epoch that this reader reads. */
    uint64_t (*samples)(const struct sheaf_reader *r);
    /* Returns the number of samples that a lane (a sequence of samples) returns in the epoch.
     * `lane` is the index of the lane among the lanes of this reader. If the lane is padded to the
     * length of other lanes, repeated samples are included. */
    uint64_t (*steps)(const struct sheaf_reader *r, uint32_t lane);
    /* Returns the largest number of shards that all lanes (sequences of samples) together have open
     * at one time. */
    uint64_t (*open_shards)(const struct sheaf_reader *r);
    /* Returns the number of rounds of an epoch. */
    uint64_t (*rounds)(const struct sheaf_dataset *dataset, const struct order *order);
    /* Begins to compute which samples an epoch with this order returns. The caller must free
     * *replay, also after an error, unless the function has left *replay unchanged because memory
     * is exhausted. */
    int (*replay)(const struct sheaf_dataset *dataset, const struct order *order,
                  struct order_replay **replay, struct sheaf_error *err);
    /* Finds the steps of an epoch at which the samples with these numbers are returned. Adds the
     * results to `comings` in any order. comings->order is the order of the epoch. */
    int (*locate)(const struct sheaf_dataset *dataset, const uint64_t *numbers, size_t count,
                  struct comings *comings, struct sheaf_error *err);

    /* The following functions are for the fingerprint in a position. A stage is a part of a
     * training run with weights of its own. Only a view (a mix of data sets) has more than one
     * stage. */
    /* Returns the index of the last stage that begins before a certain position. The position is in
     * the epoch order->epoch, after `rounds` rounds. In a round, each lane (a sequence of samples)
     * returns one sample. Returns 0 if the position is the beginning of the training run. */
    size_t (*stage)(const struct sheaf_dataset *dataset, const struct order *order,
                    uint64_t rounds);
    /* Sets *stage to the index of the last stage that begins before a certain position. The
     * position is in the epoch options->epoch. At this position, all ranks together have read
     * `samples` samples. */
    int (*stage_after)(const struct sheaf_dataset *dataset,
                       const struct sheaf_reader_options *options, uint64_t samples, size_t *stage,
                       struct sheaf_error *err);
    /* Returns the fingerprint of the data set, computed without the stages after `stage`. */
    const char *(*fingerprint)(const struct sheaf_dataset *dataset, size_t stage);
    /* true if a position also contains the beginning of the fingerprint of each source */
    bool names_sources;

    /* the reason why an epoch has no plan (sheaf_dataset_plan); NULL if it has a plan */
    const char *no_plan;
};

extern const struct epoch_order epoch_order_set;        /* version 1 of the order */
extern const struct epoch_order epoch_order_view;       /* version 2 of the order */

/* Returns the functions for the order of the data set's epochs. */
static inline const struct epoch_order *epoch_order_of(const struct sheaf_dataset *dataset)
{
    return dataset->view != NULL ? &epoch_order_view : &epoch_order_set;
}

#endif
