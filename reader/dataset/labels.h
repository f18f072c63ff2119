/* SPDX-License-Identifier: MIT
 *
 * Reads the labels of all samples of a data set from its index. A label is an integer that stands
 * for a class. */
#ifndef READER_VIEW_LABELS_H
#define READER_VIEW_LABELS_H

#include "reader/dataset/dataset.h"

/* Sets labels[i] to 1 + the label of sample i, or to 0 if the sample has no label. In a union (a
 * data set made of several data sets), the labels are those of the merged classes.
 *
 * Returns SHEAF_END if the index of a shard does not contain labels. The reason may be that the
 * shard has no manifest, or that a label is a vector or a fraction. */
int labels_read(const struct sheaf_dataset *dataset, uint32_t *labels, struct sheaf_error *err);

#endif
