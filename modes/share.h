/* SPDX-License-Identifier: MIT
 *
 * The units of a source that a host has in an epoch, and their order. Pure.
 *
 * As with SageMaker's ShuffleConfig and ShardedByS3Key, all units are put into the epoch's order,
 * and host i of n gets the units at positions i, i + n, i + 2n, ... of it. So the numbers of two
 * hosts differ by at most one, each unit belongs to one host, and with a shuffle, units move
 * between hosts from epoch to epoch. SageMaker does not publish how it shuffles, so the order
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

/* Returns the number of units, of `count` in all, that the host has. */
size_t share_size(const struct share *share, size_t count);

/* Writes the host's units of an epoch to the start of `order`, which has room for `count`. */
void share_order(const struct share *share, uint64_t epoch, uint32_t *order, size_t count);

#endif
