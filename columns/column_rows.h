/* SPDX-License-Identifier: MIT
 *
 * Reads the values of a column from a source: JSON Lines, a table, or a directory of files. */
#ifndef COLUMNS_COLUMN_ROWS_H
#define COLUMNS_COLUMN_ROWS_H

#include <stdbool.h>

#include "base/watch.h"
#include "sheaf.h"

/* A value of a column: one field of one sample. The pointers are valid only until the function that
 * receives the value returns. */
struct column_row {
    const char *key, *extension;
    const void *data;           /* is_file: the file's URL, NUL-terminated */
    size_t size;
    bool is_file;
    uint64_t line;              /* of the source; 0 for a file */
    uint64_t stamp;             /* is_file: differs for different content of the file */
};

typedef int column_row_fn(void *context, const struct column_row *row, struct sheaf_error *err);

/* Calls `each` for each value of the source, in the source's order. */
int column_rows_read(const char *source, struct watch *watch, column_row_fn *each, void *context,
                     struct sheaf_error *err);

#endif
