/* SPDX-License-Identifier: MIT
 *
 * Parses a JSON text completely or fails. When an allocation fails, jansson's own functions report
 * a syntax error or drop characters silently. */
#ifndef FORMATS_JSON_LOAD_H
#define FORMATS_JSON_LOAD_H

#include <jansson.h>

#include "sheaf.h"

/* Parses a text with jansson's flags. Returns SHEAF_ERR_MEMORY, or SHEAF_ERR_CORRUPT if the text is
 * not JSON; the reason is then in `found`, not in `err`. */
int json_load_text(const char *text, size_t size, size_t flags, json_t **value,
                   json_error_t *found, struct sheaf_error *err);
/* Parses a line of JSON Lines. On failure `err` has the reason and the column. */
int json_load_line(const char *line, size_t size, size_t flags, json_t **value,
                   struct sheaf_error *err);

#endif
