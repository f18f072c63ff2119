/* SPDX-License-Identifier: MIT
 *
 * Plays the order of an epoch on numbers, with only order.h. Tests compare a reader with the
 * result. */
#ifndef TESTS_COMMON_ORDER_H
#define TESTS_COMMON_ORDER_H

#include "reader/order/order.h"

/* The shards of a data set, in the form that order.h needs. */
struct order_set {
    const uint64_t *counts;     /* number of samples of each shard */
    size_t shards;
    uint64_t samples;           /* number of all samples */
};

/* Writes the numbers (in manifest order) of the samples that a member gets, beginning `rounds`
 * rounds into the epoch. A round is one sample of each lane. `numbers` has room for `most` numbers.
 * Returns how many were written. */
size_t order_play(const struct order *order, const struct order_member *member,
                  const struct order_set *set, uint64_t rounds, uint64_t *numbers, size_t most);

/* Reads the next number of a line of vectors, whose parts are separated by " |". Moves *text past
 * the number. */
uint64_t order_number(char **text);
/* Reads the beginning of a line of vectors: the order, and the rank and world size of a member with
 * one worker. */
void order_head(char **text, struct order *order, struct order_member *member);

#endif
