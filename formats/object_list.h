/* SPDX-License-Identifier: MIT
 *
 * The text of SageMaker's manifest file: a JSON array that begins with {"prefix":
 * "s3://bucket/prefix/"} and goes on with the rest of each object's URL.
 *
 * The array may have millions of entries, so it is parsed one entry at a time. */
#ifndef FORMATS_OBJECT_LIST_H
#define FORMATS_OBJECT_LIST_H

#include <jansson.h>

#include "sheaf.h"

#define OBJECT_LIST_LIMIT ((size_t)1 << 30)     /* bytes of the text */

struct object_list {
    const char *url;            /* for messages */
    const char *at, *end;       /* what is not taken yet */
    size_t number;              /* number of the entry taken last; the first is 1 */
};

/* Borrows all three. */
void object_list_begin(struct object_list *list, const char *url, const char *text, size_t size);

/* Takes the first entry. The caller frees *prefix. */
int object_list_prefix(struct object_list *list, char **prefix, struct sheaf_error *err);

/* Takes the next entry, a string that is not empty. Returns SHEAF_END after the last one. The
 * caller frees *entry whatever the result is. */
int object_list_next(struct object_list *list, json_t **entry, struct sheaf_error *err);

#endif
