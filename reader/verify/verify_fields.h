/* SPDX-License-Identifier: MIT
 *
 * Compares the fields and classes that sheaf_verify has counted with the manifest, and reports
 * them. */
#ifndef READER_VERIFY_VERIFY_FIELDS_H
#define READER_VERIFY_VERIFY_FIELDS_H

#include <stdatomic.h>

#include "reader/dataset/dataset.h"

/* `counted` has one entry for each source. `classes` has the number of samples of each class,
 * source after source. They are compared only if everything was read and no problem was found. */
int verify_fields(const struct sheaf_dataset *dataset, const struct sheaf_verify_options *options,
                  const struct tally *counted, const atomic_uint_fast64_t *classes,
                  struct sheaf_verify_result *result, struct sheaf_error *err);
void verify_fields_free(const struct sheaf_dataset *dataset, struct tally *counted);

/* Returns how many of `count` classes have no sample. A split may lack some, so this is not a
 * problem. */
uint64_t verify_unused(const atomic_uint_fast64_t *samples, size_t count);

#endif
