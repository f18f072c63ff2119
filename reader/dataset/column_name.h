/* SPDX-License-Identifier: MIT
 *
 * The names of the fields that columns add to samples, and their place among a sample's fields. The
 * field EXT of the column NAME becomes the field NAME.EXT. A name is made once for each column and
 * extension. */
#ifndef READER_COLUMN_NAME_H
#define READER_COLUMN_NAME_H

#include <stddef.h>

#include "sheaf.h"

/* The name of a column's field. */
struct column_name {
    struct column_name *next;
    size_t column;
    const char *extension;      /* in `suffix` */
    size_t extension_size;
    const char *name;           /* the suffix in lower case */
    char suffix[];              /* "NAME.EXT" */
};

/* Returns the name of the field that a column has for an extension. Returns NULL if the list does
 * not have it. */
const struct column_name *column_name_find(const struct column_name *list, size_t column,
                                           const char *extension, size_t size);
/* Finds the name like column_name_find, but makes it if the list does not have it yet. `own` is the
 * name of the column. Returns NULL if memory is exhausted. */
const struct column_name *column_name_get(struct column_name **list, size_t column,
                                          const char *own, const char *extension);
void column_names_free(struct column_name *list);

/* Inserts a field into the sample's fields in byte order of the suffixes. `fields` has room for one
 * more field. `shard` is the name of the sample's shard, for messages. Returns SHEAF_ERR_EXISTS if
 * the sample has a field of this name. */
int column_name_insert(const struct column_name *name, const void *data, size_t size,
                       struct sheaf_sample *sample, struct sheaf_field *fields, const char *shard,
                       struct sheaf_error *err);

#endif
