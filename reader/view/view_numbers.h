/* SPDX-License-Identifier: MIT
 *
 * A file of chosen numbers: samples that a program has chosen from a data set. A view uses the file
 * in its condition "numbers". FORMATS.md describes the format. */
#ifndef READER_VIEW_VIEW_NUMBERS_H
#define READER_VIEW_VIEW_NUMBERS_H

#include "reader/dataset/dataset.h"

/* Clears the bits of all samples that are not in the file at `path`. Returns SHEAF_ERR_CHANGED if
 * the file belongs to another data set, and SHEAF_ERR_CORRUPT if its content does not match its
 * name. */
int view_numbers_load(const struct sheaf_dataset *dataset, const char *path, uint64_t *bits,
                      struct sheaf_error *err);

#endif
