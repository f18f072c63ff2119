/* SPDX-License-Identifier: MIT
 *
 * Random inputs of tests, which can be had again: the seed is printed, and taken from SEED. */
#ifndef TESTS_COMMON_RANDOM_H
#define TESTS_COMMON_RANDOM_H

#include <stddef.h>

#include "base/rng.h"

/* Another seed at each run, unless SEED is set. */
void random_start(struct rng *rng);

/* Bytes that do not compress. */
void random_bytes(struct rng *rng, void *data, size_t size);

/* The same such bytes at each run. */
void random_fill(void *data, size_t size);

/* Words from a short list, which compress to a third or so. */
void random_text(struct rng *rng, void *data, size_t size);

#endif
