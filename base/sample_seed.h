/* SPDX-License-Identifier: MIT
 *
 * The seed of a sample. Everything random about the sample is drawn from it: crops, flips, a
 * program's transforms. The seed depends only on numbers. reader/ORDER.md specifies it, and tests
 * compare it with vectors from an independent implementation. */
#ifndef BASE_SAMPLE_SEED_H
#define BASE_SAMPLE_SEED_H

#include <stdint.h>

/* Returns the identity of a source with `samples` samples. `before` is the number of earlier
 * sources with equally many samples. The shards are those of `host` of `hosts`, or of 0 of 0. */
uint64_t sample_seed_source(uint64_t samples, uint64_t before, uint32_t host, uint32_t hosts);

/* Returns the seed of sample `number` of the source with this identity, in a source epoch. */
uint64_t sample_seed(uint64_t seed, uint64_t source, uint64_t source_epoch, uint64_t number);

#endif
