/* SPDX-License-Identifier: MIT
 *
 * Reads the labels of all samples of a data set from its index. A label is a small whole number. */
#ifndef READER_VIEW_LABELS_H
#define READER_VIEW_LABELS_H

#include "reader/dataset/dataset.h"

/* Sets labels[i] to the label of sample i plus 1, or to 0 if the sample has no label. In a union,
 * these are the labels of the merged classes. Returns SHEAF_END if the index of a shard has no
 * labels (for example because a label is a vector or a fraction, or the shard is foreign). */
int labels_read(const struct sheaf_dataset *dataset, uint32_t *labels, struct sheaf_error *err);

#endif
