/* SPDX-License-Identifier: MIT
 *
 * Reads the values of a column from a source: JSON Lines, a table, or a directory of files. */
#ifndef COLUMNS_COLUMN_ROWS_H
#define COLUMNS_COLUMN_ROWS_H

#include <stdbool.h>

#include <xxhash.h>

#include "base/hash_text.h"
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

/* A value in the form in which it is sorted and hashed:
 *
 *     line u64 | is_file u8 | key NUL | extension NUL | data
 *
 * The extension is in lower case. */
size_t column_row_bytes(const struct column_row *row);
void column_row_put(const struct column_row *row, uint8_t *to);
/* Adds the hash of a value to `sum`. `bytes` are those that column_row_put has made. The sum of all
 * values is the same for any order of the values. */
void column_row_sum(const struct column_row *row, const uint8_t *bytes, XXH128_hash_t *sum);

typedef int column_row_fn(void *context, const struct column_row *row, struct sheaf_error *err);

/* Calls `each` for each value of the source, in the source's order. */
int column_rows_read(const char *source, struct watch *watch, column_row_fn *each, void *context,
                     struct sheaf_error *err);

/* Reads all values of the source, and sets `hash` to the text of their sum. */
int column_rows_hash(const char *source, struct watch *watch, char hash[HASH_TEXT_BYTES],
                     struct sheaf_error *err);

#endif
