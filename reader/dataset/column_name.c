/* SPDX-License-Identifier: MIT
 *
 * The names of columns' fields; see column_name.h. */
#include "reader/dataset/column_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/name.h"
#include "formats/sample.h"

const struct column_name *column_name_find(const struct column_name *n, size_t column,
                                           const char *extension, size_t size)
{
    while (n != NULL && (n->column != column || n->extension_size != size ||
                         memcmp(n->extension, extension, size) != 0))
        n = n->next;
    return n;
}

const struct column_name *column_name_get(struct column_name **list, size_t column,
                                          const char *own, const char *extension)
{
    const size_t size = strlen(extension), whole = strlen(own) + size + 2;
    const struct column_name *known = column_name_find(*list, column, extension, size);
    struct column_name *n = known != NULL ? NULL : malloc(sizeof(*n) + 2 * whole);

    if (n == NULL)
        return known;
    snprintf(n->suffix, whole, "%s.%s", own, extension);
    memcpy(n->suffix + whole, n->suffix, whole);
    *n = (struct column_name){ .next = *list, .column = column, .extension_size = size,
                               .extension = n->suffix + strlen(own) + 1,
                               .name = n->suffix + (name_lower(n->suffix + whole) ? whole : 0) };
    *list = n;
    return n;
}

void column_names_free(struct column_name *list)
{
    while (list != NULL) {
        struct column_name *name = list;

        list = name->next;
        free(name);
    }
}

int column_name_insert(const struct column_name *name, const void *data, size_t size,
                       struct sheaf_sample *s, struct sheaf_field *fields, const char *shard,
                       struct sheaf_error *err)
{
    const struct sheaf_field field = { .name = name->name, .suffix = name->suffix, .data = data,
                                       .size = size };
    size_t i = s->field_count;

    for (size_t k = 0; k < s->field_count; k++)
        if (strcmp(fields[k].name, field.name) == 0)
            return err_set(err, SHEAF_ERR_EXISTS, "%s: record %" PRIu64 ": the sample %.400s has a "
                           "field %s already, which the column would hide", shard, s->record,
                           s->key, field.name);
    for (; i > 0 && strcmp(field_suffix(&fields[i - 1]), field_suffix(&field)) > 0; i--)
        fields[i] = fields[i - 1];
    fields[i] = field;
    s->field_count++;
    return SHEAF_OK;
}
