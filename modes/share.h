/* SPDX-License-Identifier: MIT
 *
 * The units (see objects.h) of a source that a host has in an epoch, and their order. The functions
 * have no side effects.
 *
 * As with SageMaker's ShuffleConfig and ShardedByS3Key, all units are put into the epoch's order,
 * and host i of n gets the units at the positions i, i + n, i + 2n, ... So the numbers of units of
 * two hosts differ by at most one, and each unit belongs to one host. If units are shuffled, they
 * move between hosts from epoch to epoch. SageMaker does not document how it shuffles, so the order
 * itself is our own. */
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

/* Returns how many of `count` units the host has. */
size_t share_size(const struct share *share, size_t count);

/* Writes the numbers of the host's units (see objects.h) in an epoch, in their order, to the
 * beginning of `order`. The array must have room for `count` numbers. */
void share_order(const struct share *share, uint64_t epoch, uint32_t *order, size_t count);

#endif
