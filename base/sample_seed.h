/* SPDX-License-Identifier: MIT
 *
 * Computes the seed of a sample. All random decisions about the sample are drawn from this seed,
 * for example its crops and flips, and the program's own transforms. The seed depends only on
 * numbers, such as the sample's position in its data set, and not on names. reader/ORDER.md
 * specifies the seed. Tests compare it with results of an independent implementation. */
#ifndef BASE_SAMPLE_SEED_H
#define BASE_SAMPLE_SEED_H

#include <stdint.h>

/* Returns a number that identifies a source, which is one data set of `samples` samples. `before`
 * is the number of earlier sources that have the same number of samples. Without `before`, two
 * sources of equal size would get the same result. If the source consists of the shards of one
 * host, `host` is the host's number and `hosts` the number of hosts; otherwise both are 0. */
uint64_t sample_seed_source(uint64_t samples, uint64_t before, uint32_t host, uint32_t hosts);

/* Returns the seed of a sample. `seed` is the option of the reader. `source` is the result of
 * sample_seed_source, source_epoch the number of the pass through this source, and `number` the
 * number of the sample in this source. */
uint64_t sample_seed(uint64_t seed, uint64_t source, uint64_t source_epoch, uint64_t number);

#endif
