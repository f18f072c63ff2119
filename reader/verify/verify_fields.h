/* SPDX-License-Identifier: MIT
 *
 * Checks the counts of fields and classes in the manifest. sheaf_verify has counted fields and
 * classes itself, and this file reports differences. */
#ifndef READER_VERIFY_VERIFY_FIELDS_H
#define READER_VERIFY_VERIFY_FIELDS_H

#include <stdatomic.h>

#include "reader/dataset/dataset.h"

/* Compares counts with the manifest. counted[i] has the field counts of source i. `classes` has the
 * number of samples of each class: first the classes of source 0, then those of source 1, and so
 * on. The counts are compared only if all shards were read and no problem was found. Also reports a
 * manifest that is missing beside an index of Sheaf. */
int verify_fields(const struct sheaf_dataset *dataset, const struct sheaf_verify_options *options,
                  const struct tally *counted, const atomic_uint_fast64_t *classes,
                  struct sheaf_verify_result *result, struct sheaf_error *err);
void verify_fields_free(const struct sheaf_dataset *dataset, struct tally *counted);

/* Returns the number of classes without samples. samples[i] is the number of samples of class i. A
 * class without samples is not reported as a problem, because a split (such as "val") need not have
 * samples of each class. */
uint64_t verify_unused(const atomic_uint_fast64_t *samples, size_t count);

#endif
