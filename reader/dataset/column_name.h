/* SPDX-License-Identifier: MIT
 *
 * Names of the fields that columns add to samples. The field EXT of the column NAME becomes the
 * field NAME.EXT of the sample. Each such name is made once and kept in a list. */
#ifndef READER_COLUMN_NAME_H
#define READER_COLUMN_NAME_H

#include <stddef.h>

#include "sheaf.h"

/* The name of a column's field. */
struct column_name {
    struct column_name *next;
    size_t column;
    const char *extension;      /* the extension, which is a part of `suffix` */
    size_t extension_size;
    const char *name;           /* the suffix in lower case */
    char suffix[];              /* "NAME.EXT" */
};

/* Returns the name NAME.EXT of a field, or NULL if the list does not contain this name yet. NAME is
 * the name of column number `column`. EXT is `extension`, which has `size` bytes. */
const struct column_name *column_name_find(const struct column_name *list, size_t column,
                                           const char *extension, size_t size);
/* Returns the name NAME.EXT of a field, like column_name_find. If the list does not contain the
 * name yet, makes the name and adds it to the list. `own` is NAME, the name of the column. Returns
 * NULL if memory is exhausted. */
const struct column_name *column_name_get(struct column_name **list, size_t column,
                                          const char *own, const char *extension);
void column_names_free(struct column_name *list);

/* Inserts a column's field into the fields of a sample, which are sorted by the bytes of their
 * suffixes. `fields` must have room for one more field. `shard` is the name of the sample's shard,
 * for messages. Returns SHEAF_ERR_EXISTS if the sample already has a field with this name. */
int column_name_insert(const struct column_name *name, const void *data, size_t size,
                       struct sheaf_sample *sample, struct sheaf_field *fields, const char *shard,
                       struct sheaf_error *err);

#endif
