/* SPDX-License-Identifier: MIT
 *
 * Counts the values in the additional columns or members of a list. Some values become fields and
 * others cannot. Both are counted, so that no value is lost silently. */
#ifndef PACKER_SOURCE_LIST_COLUMNS_H
#define PACKER_SOURCE_LIST_COLUMNS_H

#include "base/buf.h"
#include "packer/source/problems.h"

struct list_columns {
    struct buf columns;         /* struct list_column[] of the first LIST_COLUMNS_MOST names */
    uint64_t others;            /* values of further names */
};

#define LIST_COLUMNS_MOST 64

void list_columns_free(struct list_columns *columns);
/* Counts a value of a list. `problem` is the reason why the value is left out, or NULL if the value
 * became a field. */
int list_columns_count(struct list_columns *columns, const char *name, const char *problem,
                       struct sheaf_error *err);
/* Reports to the user which columns of the list `url` became fields, and how many values of each
 * column were left out. Adds the number of left-out values to problems->left_out_values.
 * `has_label` tells whether the list has labels; if not, the report says which names a column of
 * labels must have. */
void list_columns_tell(const struct list_columns *columns, struct problems *problems,
                       const char *url, bool has_label);

#endif
