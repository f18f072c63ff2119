/* SPDX-License-Identifier: MIT
 *
 * The order of an epoch by order.h alone, played on numbers: what a reader is compared with. */
#ifndef TESTS_COMMON_ORDER_H
#define TESTS_COMMON_ORDER_H

#include "reader/order/order.h"

/* The shards of a data set, as the order sees them. */
struct order_set {
    const uint64_t *counts;     /* samples of each shard */
    size_t shards;
    uint64_t samples;           /* of all */
};

/* Writes the numbers (in manifest order) of the samples that a member gets, from `rounds` rounds
 * of its lanes into the epoch on, to `numbers`, which has room for `most`; returns how many. */
size_t order_play(const struct order *order, const struct order_member *member,
                  const struct order_set *set, uint64_t rounds, uint64_t *numbers, size_t most);

/* The next number of a line of vectors, whose parts are divided by " |"; *text is moved past it. */
uint64_t order_number(char **text);
/* What every line begins with: the order, and rank and world size of a member with one worker. */
void order_head(char **text, struct order *order, struct order_member *member);

#endif
