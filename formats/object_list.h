/* SPDX-License-Identifier: MIT
 *
 * Parses a manifest file of SageMaker, which lists objects in a store. The file is a JSON array
 * whose first element is {"prefix": "s3://bucket/prefix/"}. Each further element is the part of an
 * object's URL after this prefix. The array may have millions of elements, so it is parsed one
 * element at a time. */
#ifndef FORMATS_OBJECT_LIST_H
#define FORMATS_OBJECT_LIST_H

#include <jansson.h>

#include "sheaf.h"

#define OBJECT_LIST_LIMIT ((size_t)1 << 30)     /* bytes of the text */

struct object_list {
    const char *url;            /* for messages */
    const char *at, *end;       /* the text that was not parsed yet */
    /* number of the element that object_list_next() took last; the first element of the array has
     * the number 1 */
    size_t number;
};

/* Borrows all three. */
void object_list_begin(struct object_list *list, const char *url, const char *text, size_t size);

/* Takes the first entry. The caller frees *prefix. */
int object_list_prefix(struct object_list *list, char **prefix, struct sheaf_error *err);

/* Sets *entry to the next element of the array, which must be a string that is not empty. Returns
 * SHEAF_END after the last element. The caller must free *entry even after an error. */
int object_list_next(struct object_list *list, json_t **entry, struct sheaf_error *err);

#endif
