/* SPDX-License-Identifier: MIT
 *
 * JSON as text, complete or not at all: jansson's json_dumps() drops pieces of the text when memory
 * is short for a moment. */
#ifndef FORMATS_JSON_DUMP_H
#define FORMATS_JSON_DUMP_H

#include <jansson.h>

/* The text, with jansson's flags, which the caller frees; NULL if there was not enough memory. */
char *json_dump_text(const json_t *value, size_t flags);

#endif
