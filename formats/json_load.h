/* SPDX-License-Identifier: MIT
 *
 * Parses a JSON text completely, or fails: when memory is short for a moment, jansson's own calls
 * report a syntax error, or drop characters silently. */
#ifndef FORMATS_JSON_LOAD_H
#define FORMATS_JSON_LOAD_H

#include <jansson.h>

#include "sheaf.h"

/* The value, with jansson's flags.  SHEAF_ERR_MEMORY; SHEAF_ERR_CORRUPT: it is not JSON, for which
 * `found`, and not `err`, has the reason. */
int json_load_text(const char *text, size_t size, size_t flags, json_t **value,
                   json_error_t *found, struct sheaf_error *err);
/* The same of a line of JSON Lines, with the reason and the column in `err`. */
int json_load_line(const char *line, size_t size, size_t flags, json_t **value,
                   struct sheaf_error *err);

#endif
