/* SPDX-License-Identifier: MIT
 *
 * The fields and classes that sheaf_verify has counted: compared with the manifest, and told. */
#ifndef READER_VERIFY_VERIFY_FIELDS_H
#define READER_VERIFY_VERIFY_FIELDS_H

#include <stdatomic.h>

#include "reader/dataset/dataset.h"

/* `counted`: of each source; `classes`: the samples of each class, source after source.  They are
 * compared if all was read, and sound so far. */
int verify_fields(const struct sheaf_dataset *dataset, const struct sheaf_verify_options *options,
                  const struct tally *counted, const atomic_uint_fast64_t *classes,
                  struct sheaf_verify_result *result, struct sheaf_error *err);
void verify_fields_free(const struct sheaf_dataset *dataset, struct tally *counted);

/* How many of `count` classes no sample has: a split may lack some, so this is not a problem. */
uint64_t verify_unused(const atomic_uint_fast64_t *samples, size_t count);

#endif
