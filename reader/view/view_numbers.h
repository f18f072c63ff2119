/* SPDX-License-Identifier: MIT
 *
 * A file of chosen numbers, which are the numbers of samples that a program has chosen from a data
 * set. The condition "numbers" of a view (a mix of data sets) names such a file. FORMATS.md
 * describes the format. */
#ifndef READER_VIEW_VIEW_NUMBERS_H
#define READER_VIEW_VIEW_NUMBERS_H

#include "reader/dataset/dataset.h"

/* Reads the file of chosen numbers at `path`. Clears the bits of all samples that it does not
 * contain. Returns SHEAF_ERR_CHANGED if the file belongs to another data set, and SHEAF_ERR_CORRUPT
 * if its content does not have the hash in its name. */
int view_numbers_load(const struct sheaf_dataset *dataset, const char *path, uint64_t *bits,
                      struct sheaf_error *err);

#endif
