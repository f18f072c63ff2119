/* SPDX-License-Identifier: MIT
 *
 * Counts the values in a list's columns, except paths and labels: how many of these values become
 * fields, and how many cannot. So no value is lost silently. */
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
/* Counts one value of the list's column `name`. `problem` is the reason why the value is left out,
 * or NULL if it becomes a field. */
int list_columns_count(struct list_columns *columns, const char *name, const char *problem,
                       struct sheaf_error *err);
/* Reports which columns of the list `url` became fields, and how many values of each column were
 * left out. Adds the number of left-out values to problems->left_out_values. If the list has no
 * labels (`has_label` is false), the report says which names a column of labels may have. */
void list_columns_tell(const struct list_columns *columns, struct problems *problems,
                       const char *url, bool has_label);

#endif
