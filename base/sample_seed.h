/* SPDX-License-Identifier: MIT
 *
 * Computes the seed of a sample. All random decisions about the sample are drawn from this seed,
 * for example its crops and flips, and the program's own transforms. The seed depends only on
 * numbers, such as the sample's position in its data set, and not on names. reader/ORDER.md
 * specifies the seed. Tests compare it with results of an independent implementation. */
#ifndef BASE_SAMPLE_SEED_H
#define BASE_SAMPLE_SEED_H

#include <stdint.h>

/* Returns a number that identifies a source of samples: a data set, or the shards of a data set
 * that one host has. `samples` is the number of samples in the source. `before` is the number of
 * earlier sources with the same number of samples, so that sources of equal size get different
 * results. For the shards of one host, `host` is the number of the host, and `hosts` the number of
 * hosts. Otherwise both are 0. */
uint64_t sample_seed_source(uint64_t samples, uint64_t before, uint32_t host, uint32_t hosts);

/* Returns the seed of a sample. `seed` is the reader's option of this name, and `source` is the
 * result of sample_seed_source. source_epoch is the number of the pass through this source, and
 * `number` the number of the sample in this source. */
uint64_t sample_seed(uint64_t seed, uint64_t source, uint64_t source_epoch, uint64_t number);

#endif
