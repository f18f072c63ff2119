/* SPDX-License-Identifier: MIT
 *
 * Writes JSON as text, either completely or not at all. jansson's json_dumps() drops pieces of the
 * text when an allocation fails. */
#ifndef FORMATS_JSON_DUMP_H
#define FORMATS_JSON_DUMP_H

#include <jansson.h>

/* Returns the text, written with jansson's flags, or NULL if memory is exhausted. The caller frees
 * it. */
char *json_dump_text(const json_t *value, size_t flags);

#endif
