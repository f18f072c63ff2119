/* SPDX-License-Identifier: MIT
 *
 * Counts values by name; see list_columns.h. */
#include "packer/source/list_columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

struct list_column {
    char *name;
    uint64_t packed, left_out;
    const char *problem;        /* that of the first value that was left out */
};

static struct list_column *list_columns_of(const struct list_columns *c, size_t *count)
{
    *count = c->columns.size / sizeof(struct list_column);
    return (struct list_column *)(void *)c->columns.data;
}

void list_columns_free(struct list_columns *c)
{
    size_t count;
    struct list_column *columns = list_columns_of(c, &count);

    for (size_t i = 0; i < count; i++)
        free(columns[i].name);
    buf_free(&c->columns);
}

int list_columns_count(struct list_columns *c, const char *name, const char *problem,
                       struct sheaf_error *err)
{
    size_t count, i = 0;
    struct list_column *columns = list_columns_of(c, &count);
    struct list_column added = { .packed = 0 };
    int code;

    while (i < count && strcmp(columns[i].name, name) != 0)
        i++;
    if (i == LIST_COLUMNS_MOST) {
        c->others++;
        return SHEAF_OK;
    }
    if (i == count) {
        added.name = strdup(name);
        if (added.name == NULL)
            return err_memory(err, strlen(name));
        c->columns.limit = SIZE_MAX / 2;
        code = buf_append(&c->columns, &added, sizeof(added), err);
        if (code != SHEAF_OK) {
            free(added.name);
            return code;
        }
        columns = list_columns_of(c, &count);
    }
    columns[i].packed += problem == NULL;
    columns[i].left_out += problem != NULL;
    columns[i].problem = columns[i].problem == NULL ? problem : columns[i].problem;
    return SHEAF_OK;
}

void list_columns_tell(const struct list_columns *c, struct problems *problems,
                       const char *url, bool has_label)
{
    size_t count;
    const struct list_column *columns = list_columns_of(c, &count);
    char names[400] = "";
    size_t packed = 0, used = 0;

    for (size_t i = 0; i < count; i++) {
        const struct list_column *x = &columns[i];

        problems->left_out_values += x->left_out;
        if (x->left_out != 0)
            problems_note(problems, SHEAF_REASON_NONE, url, "%s: %llu value%s of \"%.80s\" left "
                          "out: %s", url, (unsigned long long)x->left_out, plural(x->left_out),
                          x->name, x->problem);
        if (x->packed == 0)
            continue;
        packed++;
        if (used + strlen(x->name) + 4 < sizeof(names) - 8)
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s\"%s\"",
                                     used == 0 ? "" : ", ", x->name);
        else if (used == 0 || names[used - 1] != '.')
            used += (size_t)snprintf(names + used, sizeof(names) - used, ", ...");
    }
    if (packed != 0)
        problems_note(problems, SHEAF_REASON_NONE, url, "%s: %s %s%s became %sfield%s%s", url,
                      packed == 1 ? "the column" : "the columns", names,
                      c->others == 0 ? "" : " and others", packed == 1 ? "a " : "",
                      plural(packed),
                      has_label ? "" : "; none is a label, whose column is called label, labels, "
                                       "class or class_name");
}
