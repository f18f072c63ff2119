/* SPDX-License-Identifier: MIT
 *
 * The further columns or members of a list: how many values of each became fields, and how many
 * could not, so that none is lost without a word. */
#ifndef PACKER_SOURCE_LIST_COLUMNS_H
#define PACKER_SOURCE_LIST_COLUMNS_H

#include "base/buf.h"
#include "packer/source/problems.h"

struct list_columns {
    struct buf columns;         /* struct list_column[], the first LIST_COLUMNS_MOST names */
    uint64_t others;            /* values of further names */
};

#define LIST_COLUMNS_MOST 64

void list_columns_free(struct list_columns *columns);
/* Counts a value.  `problem`: why it is left out; NULL: it became a field. */
int list_columns_count(struct list_columns *columns, const char *name, const char *problem,
                       struct sheaf_error *err);
/* Tells what became of them.  `url`: the list; has_label: another column is the label. */
void list_columns_tell(const struct list_columns *columns, const struct problems *problems,
                       const char *url, bool has_label);

#endif
