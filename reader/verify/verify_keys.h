/* SPDX-License-Identifier: MIT
 *
 * Compares the tables of keys of a data set with the samples that sheaf_verify has read. */
#ifndef READER_VERIFY_VERIFY_KEYS_H
#define READER_VERIFY_VERIFY_KEYS_H

#include "reader/dataset/dataset.h"

/* Checks the tables of keys. `sums` has one sum for each part of the data set: first the parts of
 * source 0, then the parts of source 1, and so on. Each sum adds up key_table_part (a hash of key
 * and number) over all samples of the part. It must be equal to the sum over the entries of the
 * table. The sums are compared only if all shards were read and no problem was found.
 *
 * If several processes divide the shards of a data set among them, only the process with the first
 * shards checks the tables. */
int verify_keys(const struct sheaf_dataset *dataset, const struct sheaf_verify_options *options,
                const uint64_t *sums, struct sheaf_verify_result *result, struct sheaf_error *err);

#endif
