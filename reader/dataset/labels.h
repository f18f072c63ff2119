/* SPDX-License-Identifier: MIT
 *
 * Reads the labels of all samples of a data set from its index. A label is a small whole number. */
#ifndef READER_VIEW_LABELS_H
#define READER_VIEW_LABELS_H

#include "reader/dataset/dataset.h"

/* Sets labels[i] to the label of sample i plus 1, or to 0 if the sample has no label. In a union
 * the labels are the union's. Returns SHEAF_END if the index of a shard has no labels (foreign
 * shards, vectors, fractions). */
int labels_read(const struct sheaf_dataset *dataset, uint32_t *labels, struct sheaf_error *err);

#endif
