/* SPDX-License-Identifier: MIT
 *
 * Which units of a source a host has in an epoch, and in what order.  Pure.
 *
 * As SageMaker's ShuffleConfig and ShardedByS3Key say it: all units are put into the epoch's order,
 * and of this order host i of n has those whose places are i, i + n, i + 2n, ...  So hosts differ
 * by at most one unit, each unit is one host's, and with a shuffle units move between hosts from
 * epoch to epoch.  SageMaker does not publish how it shuffles, so the order itself is ours. */
#ifndef MODES_SHARE_H
#define MODES_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct share {
    bool shuffle;
    uint64_t seed;
    uint32_t host, hosts;       /* host < hosts */
};

/* How many of `count` units the host has. */
size_t share_size(const struct share *share, size_t count);

/* Puts the host's units of an epoch at the start of `order`, which has room for `count`. */
void share_order(const struct share *share, uint64_t epoch, uint32_t *order, size_t count);

#endif
