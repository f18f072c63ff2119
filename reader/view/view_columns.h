/* SPDX-License-Identifier: MIT
 *
 * The conditions of a view on numbers in columns. The records of the columns are read, and not the
 * shards of the source. A sample without a value fulfils no condition. */
#ifndef READER_VIEW_VIEW_COLUMNS_H
#define READER_VIEW_VIEW_COLUMNS_H

#include "reader/view/view_keys.h"

/* A condition of a view may depend on a column, which consists of layers (small data sets, see
 * column_sets.h). For each condition, makes a text that identifies the content of its column: the
 * fingerprints of the column's layers, separated by commas. The caller frees the texts with
 * view_columns_forget. */
int view_columns_identify(const struct choice *choice, char ***texts, struct sheaf_error *err);
void view_columns_forget(const struct view_where *where, char **texts);

/* Removes the samples that do not fulfil the conditions. */
int view_columns_select(struct choice *choice, const struct view_keys_how *how,
                        struct sheaf_error *err);

#endif
