/* SPDX-License-Identifier: MIT
 *
 * Conditions of a view (a mix of data sets) on numbers in columns. A column is a field that was
 * added to a data set after packing, and has records of its own. Only these records are read, and
 * not the samples. A sample without a value in the column satisfies none of the conditions on this
 * column. */
#ifndef READER_VIEW_VIEW_COLUMNS_H
#define READER_VIEW_VIEW_COLUMNS_H

#include "reader/view/view_keys.h"

/* Makes a text for each condition on a column. The text identifies the content of the column. It
 * has the fingerprints of the column's layers (the data sets in which it is stored, see
 * column_sets.h), separated by commas. The caller must free the texts with view_columns_forget. */
int view_columns_identify(const struct choice *choice, char ***texts, struct sheaf_error *err);
void view_columns_forget(const struct view_where *where, char **texts);

/* Removes the samples that do not fulfil the conditions. */
int view_columns_select(struct choice *choice, const struct view_keys_how *how,
                        struct sheaf_error *err);

#endif
