/* SPDX-License-Identifier: MIT
 *
 * Reads the values of a column from a source. The source is a file of JSON Lines, a table such as
 * CSV, or a directory with one file for each value. */
#ifndef COLUMNS_COLUMN_ROWS_H
#define COLUMNS_COLUMN_ROWS_H

#include <stdbool.h>

#include <xxhash.h>

#include "base/hash_text.h"
#include "base/watch.h"
#include "sheaf.h"

/* A value of a column: one field of one sample. Its pointers are valid only while the caller's
 * function `each` (column_row_fn) runs. */
struct column_row {
    const char *key, *extension;
    /* the value; if is_file is set, the URL of the file that contains the value, ended by a NUL */
    const void *data;
    size_t size;
    bool is_file;
    /* number of the line in the source that states the value; 0 if the value is a file */
    uint64_t line;
    /* if is_file is set: a number that changes when the file's content changes */
    uint64_t stamp;
};

/* column_row_put writes a value to `to` in the following form, and column_row_bytes returns the
 * number of bytes that it writes. Values are sorted and hashed in this form. The extension is
 * written in lower case.
 *
 *     line u64 | is_file u8 | key NUL | extension NUL | data */
size_t column_row_bytes(const struct column_row *row);
void column_row_put(const struct column_row *row, uint8_t *to);
/* Adds the hash of a value to `sum`. `bytes` is the value in the form that column_row_put writes.
 * The sum does not depend on the order of the values, so a source with the same values in another
 * order has the same sum. */
void column_row_sum(const struct column_row *row, const uint8_t *bytes, XXH128_hash_t *sum);

typedef int column_row_fn(void *context, const struct column_row *row, struct sheaf_error *err);

/* Calls `each` for each value of the source, in the order of the source. */
int column_rows_read(const char *source, struct watch *watch, column_row_fn *each, void *context,
                     struct sheaf_error *err);

/* Reads all values of the source, adds up their hashes (column_row_sum), and writes the sum to
 * `hash` as text. */
int column_rows_hash(const char *source, struct watch *watch, char hash[HASH_TEXT_BYTES],
                     struct sheaf_error *err);

#endif
