/* SPDX-License-Identifier: MIT
 *
 * Parses and writes JSON texts with jansson, and finds values in a text without parsing it. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>

#include "sheaf.h"

/* Parses a text with jansson's flags. On success the caller must release *value; on failure *value
 * is NULL. Returns SHEAF_ERR_MEMORY, with a message in `err`, if memory is exhausted. Returns
 * SHEAF_ERR_CORRUPT if the text is not JSON; `found` then has the reason, unless `found` is NULL,
 * and `err` is unchanged. */
int json_load_text(const char *text, size_t size, size_t flags, json_t **value,
                   json_error_t *found, struct sheaf_error *err);
/* Parses a line of JSON Lines. On failure `err` has the reason and the column. */
int json_load_line(const char *line, size_t size, size_t flags, json_t **value,
                   struct sheaf_error *err);

/* Returns the text of a value, written with jansson's flags, or NULL if memory is exhausted. The
 * caller frees the text. (jansson's json_dumps drops pieces of the text when an allocation
 * fails.) */
char *json_dump_text(const json_t *value, size_t flags);

/* Returns value number i of `from` as JSON, or NULL, with the reason in `error`. */
typedef json_t *json_make_fn(const void *from, size_t i, json_error_t *error);
/* Returns an array of `count` values that `make` makes, or NULL if one of them cannot be made. */
json_t *json_make_array(size_t count, json_make_fn *make, const void *from, json_error_t *error);
/* Makes a string of an array of strings, and a number of an array of uint64_t. */
json_make_fn json_make_string, json_make_number;

/* The next two functions find the values in a JSON text. With them, a large array can be parsed one
 * element at a time, or a value can be copied as it was written. They do not check whether the text
 * is valid JSON. */

/* Returns the first byte at or after `text` that is not a blank. */
const char *json_text_blanks(const char *text, const char *end);
/* Returns the end of the JSON value that begins at `text`, or `end` if the value is incomplete. */
const char *json_text_value(const char *text, const char *end);

#endif
