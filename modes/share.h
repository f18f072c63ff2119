/* SPDX-License-Identifier: MIT
 *
 * Computes which units of a source a host reads in an epoch, and in which order. A unit is one
 * object, or all objects that one line of an augmented manifest names. The functions have no side
 * effects.
 *
 * The functions imitate SageMaker's ShuffleConfig and ShardedByS3Key. Host number i of n hosts gets
 * the units at the positions i, i + n, i + 2n, ... of the order of the epoch. If units are
 * shuffled, each epoch has another order, and may give a unit to another host. SageMaker does not
 * document how it shuffles, so SageMaker's order is different. */
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

/* Computes which units this host reads in an epoch. Writes their numbers to the beginning of
 * `order`, in the order in which the host reads the units. (A unit is an object or a group of
 * objects; see objects.h.) The array must have room for `count` numbers. */
void share_order(const struct share *share, uint64_t epoch, uint32_t *order, size_t count);

#endif
