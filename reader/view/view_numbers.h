/* SPDX-License-Identifier: MIT
 *
 * A file of chosen numbers: what a program has chosen of a data set, as the condition "numbers" of
 * a view.  FORMATS.md has the form. */
#ifndef READER_VIEW_VIEW_NUMBERS_H
#define READER_VIEW_VIEW_NUMBERS_H

#include "reader/dataset/dataset.h"

/* Clears the bits of the samples of the data set that the file at `path` does not have.
 * SHEAF_ERR_CHANGED: it is of another data set; _CORRUPT: its content is not what its name says. */
int view_numbers_load(const struct sheaf_dataset *dataset, const char *path, uint64_t *bits,
                      struct sheaf_error *err);

#endif
