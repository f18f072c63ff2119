/* SPDX-License-Identifier: MIT
 *
 * Compares the tables of keys with the samples that sheaf_verify has read. */
#ifndef READER_VERIFY_VERIFY_KEYS_H
#define READER_VERIFY_VERIFY_KEYS_H

#include "reader/dataset/dataset.h"

/* `sums` has the sum of key_table_part for each part of each source, source after source. They are
 * compared only if everything was read and no problem was found. If a verification runs in parts,
 * its first part checks the tables. */
int verify_keys(const struct sheaf_dataset *dataset, const struct sheaf_verify_options *options,
                const uint64_t *sums, struct sheaf_verify_result *result, struct sheaf_error *err);

#endif
