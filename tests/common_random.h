/* SPDX-License-Identifier: MIT
 *
 * Random inputs for tests. The seed is printed, and can be set by SEED to repeat a test. */
#ifndef TESTS_COMMON_RANDOM_H
#define TESTS_COMMON_RANDOM_H

#include <stddef.h>

#include "base/rng.h"

/* Uses another seed in each run, unless SEED is set. */
void random_start(struct rng *rng);

/* Writes random bytes, which cannot be compressed. */
void random_bytes(struct rng *rng, void *data, size_t size);

/* Writes the same pseudo-random bytes in each run. */
void random_fill(void *data, size_t size);

/* Writes words from a short list. The text compresses to about a third. */
void random_text(struct rng *rng, void *data, size_t size);

#endif
