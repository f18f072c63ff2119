/* SPDX-License-Identifier: MIT
 *
 * Parses and writes JSON texts with jansson, and finds values in a text without parsing it. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>

#include "sheaf.h"

/* Parses a JSON text with jansson's flags. On success, the caller must release *value. On failure,
 * *value is NULL. Returns SHEAF_ERR_CORRUPT if the text is not JSON. In this case `err` is not
 * changed, and *found gets the reason if `found` is not NULL. Returns SHEAF_ERR_MEMORY and sets
 * `err` if memory is exhausted. */
int json_load_text(const char *text, size_t size, size_t flags, json_t **value,
                   json_error_t *found, struct sheaf_error *err);
/* Parses one line of a JSON Lines file. If the line is invalid, `err` gets the reason and the
 * column. If jansson cannot store one of the integers in the line, because it is 2^63 or more, then
 * all integers in the line become reals. These may be rounded, so a caller that needs the exact
 * number must read it from the text. */
int json_load_line(const char *line, size_t size, size_t flags, json_t **value,
                   struct sheaf_error *err);

/* Returns the text of a JSON value, or NULL if memory is exhausted. `flags` are jansson's. The
 * caller must free the text. This function replaces json_dumps of jansson, which loses parts of the
 * text when an allocation fails. */
char *json_dump_text(const json_t *value, size_t flags);

/* A function that makes a JSON value from element number i of `from`. Returns NULL and sets `error`
 * if it fails. */
typedef json_t *json_make_fn(const void *from, size_t i, json_error_t *error);
/* Returns a JSON array of the `count` values that `make` makes. Returns NULL if a value cannot be
 * made. */
json_t *json_make_array(size_t count, json_make_fn *make, const void *from, json_error_t *error);
/* json_make_string makes a JSON string from an element of an array of char pointers.
 * json_make_number makes a number from an element of an array of uint64_t. */
json_make_fn json_make_string, json_make_number;

/* json_text_blanks and json_text_value find values in a JSON text without parsing it. With them, a
 * caller can parse a large array one element at a time, or copy a value as it was written. They do
 * not check whether the text is valid. */

/* Returns the first byte at or after `text` that is not a blank. */
const char *json_text_blanks(const char *text, const char *end);
/* Returns the end of the JSON value that begins at `text`, or `end` if the value is incomplete. */
const char *json_text_value(const char *text, const char *end);

#endif
