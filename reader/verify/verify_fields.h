/* SPDX-License-Identifier: MIT
 *
 * Compares the field and class counts that sheaf_verify has found with the manifest, and reports
 * them. */
#ifndef READER_VERIFY_VERIFY_FIELDS_H
#define READER_VERIFY_VERIFY_FIELDS_H

#include <stdatomic.h>

#include "reader/dataset/dataset.h"

/* Compares the counts with the manifest. `counted` has the field counts of each source. `classes`
 * has the number of samples of each class, source after source. The counts are compared only if
 * everything was read and no problem was found. */
int verify_fields(const struct sheaf_dataset *dataset, const struct sheaf_verify_options *options,
                  const struct tally *counted, const atomic_uint_fast64_t *classes,
                  struct sheaf_verify_result *result, struct sheaf_error *err);
void verify_fields_free(const struct sheaf_dataset *dataset, struct tally *counted);

/* `samples` has the number of samples of each of `count` classes. Returns how many of the classes
 * have no sample. A split may lack some classes, so this is not a problem. */
uint64_t verify_unused(const atomic_uint_fast64_t *samples, size_t count);

#endif
