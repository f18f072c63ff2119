/* SPDX-License-Identifier: MIT
 *
 * The labels of all samples of a data set, from its index: small whole numbers, or none. */
#ifndef READER_VIEW_LABELS_H
#define READER_VIEW_LABELS_H

#include "reader/dataset/dataset.h"

/* labels[i]: that of sample i, + 1, and 0 if it has none; the numbers are those of a union.
 * SHEAF_END: the index of a shard has no labels (foreign shards, vectors, fractions). */
int labels_read(const struct sheaf_dataset *dataset, uint32_t *labels, struct sheaf_error *err);

#endif
