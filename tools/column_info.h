/* SPDX-License-Identifier: MIT
 *
 * Prints information about a column (a field that was added after packing), for `sheaf column list`
 * and `sheaf info`. */
#ifndef TOOLS_COLUMN_INFO_H
#define TOOLS_COLUMN_INFO_H

#include "sheaf.h"

/* Returns a text that says why a column cannot be read: "unfinished", or the error message of the
 * column. */
const char *column_problem(const struct sheaf_column_info *column);
/* Prints a column as a JSON object. */
void column_print_json(const struct sheaf_column_info *column);

#endif
