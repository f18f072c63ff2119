/* SPDX-License-Identifier: MIT
 *
 * Compares the tables of keys with the samples that sheaf_verify has read. */
#ifndef READER_VERIFY_VERIFY_KEYS_H
#define READER_VERIFY_VERIFY_KEYS_H

#include "reader/dataset/dataset.h"

/* Checks the tables of keys. `sums` has the sum of key_table_part for each part of each source,
 * source after source. The sums are compared only if everything was read and no problem was found.
 * If several processes each verify a part of the data set, only the process with the first part
 * checks the tables. */
int verify_keys(const struct sheaf_dataset *dataset, const struct sheaf_verify_options *options,
                const uint64_t *sums, struct sheaf_verify_result *result, struct sheaf_error *err);

#endif
