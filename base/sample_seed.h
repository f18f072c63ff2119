/* SPDX-License-Identifier: MIT
 *
 * The seed of a sample. Everything random about the sample is drawn from it: crops, flips, a
 * program's transforms. The seed depends only on numbers, such as the sample's position in its data
 * set, and not on any name. reader/ORDER.md specifies it, and tests compare it with vectors from an
 * independent implementation. */
#ifndef BASE_SAMPLE_SEED_H
#define BASE_SAMPLE_SEED_H

#include <stdint.h>

/* Returns a number that identifies a source (a data set) with `samples` samples. Sources with the
 * same number of samples are distinguished by `before`: it counts the sources of this size that
 * precede this one in the list of all sources. If the source consists of the shards of one host,
 * `host` and `hosts` are that host's number and the number of hosts; otherwise both are 0. */
uint64_t sample_seed_source(uint64_t samples, uint64_t before, uint32_t host, uint32_t hosts);

/* Returns the seed of a sample. `number` is the sample's number in its source. `source` identifies
 * the source (see sample_seed_source). */
uint64_t sample_seed(uint64_t seed, uint64_t source, uint64_t source_epoch, uint64_t number);

#endif
