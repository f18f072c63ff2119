/* SPDX-License-Identifier: MIT
 *
 * The tables of keys, compared by sheaf_verify with the samples that it has read. */
#ifndef READER_VERIFY_VERIFY_KEYS_H
#define READER_VERIFY_VERIFY_KEYS_H

#include "reader/dataset/dataset.h"

/* `sums`: of each part of each source, one source after another, key_table_part over its samples.
 * They are compared if all was read, and sound so far.  The tables are the first part's of a
 * verification in parts. */
int verify_keys(const struct sheaf_dataset *dataset, const struct sheaf_verify_options *options,
                const uint64_t *sums, struct sheaf_verify_result *result, struct sheaf_error *err);

#endif
