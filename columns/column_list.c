/* SPDX-License-Identifier: MIT
 *
 * sheaf_column_list: finds the columns of a data set, and passes facts from the manifest of each
 * column to the caller. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/dataset/column_sets.h"

/* The names of a data set's columns. */
struct column_names {
    char **names;
    size_t count;
};

static int column_list_take_name(void *context, const char *name, struct sheaf_error *err)
{
    struct column_names *all = context;
    char **names = realloc(all->names, (all->count + 1) * sizeof(names[0]));

    if (names != NULL)
        all->names = names;
    if (names == NULL || (names[all->count] = strdup(name)) == NULL)
        return err_memory(err, strlen(name));
    all->count++;
    return SHEAF_OK;
}

static int column_list_by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Joins the names of the fields of all layers. */
static int join_fields(const struct column_set *set, struct buf *out, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = 0; i < set->count; i++) {
        const struct tally *t = &set->layers[i].dataset->manifest.fields;

        for (size_t f = 0; !t->is_unknown && f < t->count && code == SHEAF_OK; f++) {
            const char *name = t->fields[f].name;
            bool is_known = false;

            for (const char *at = (const char *)out->data; at != NULL && !is_known;) {
                const size_t size = strcspn(at, ",");

                is_known = size == strlen(name) && strncmp(at, name, size) == 0;
                at = at[size] == ',' ? at + size + 1 : NULL;
            }
            if (!is_known)
                code = buf_printf(out, err, "%s%s", out->size == 0 ? "" : ",", name);
        }
    }
    return code;
}

static void column_list_describe(const struct sheaf_dataset *source, const struct column_set *set,
                                 struct sheaf_column_info *info)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct sheaf_dataset *d = set->layers[i].dataset;

        info->samples += dataset_samples(d);
        info->missing += set->layers[i].facts.missing;
        info->stored_bytes += d->total_bytes;
        info->shards += d->manifest.shard_count;
    }
    info->layers = set->count;
    info->uncovered = source->end_number - source->first_number - info->samples;
}

static int column_list_tell(const struct sheaf_dataset *source, const char *name,
                            sheaf_column_fn *each, void *context, struct sheaf_error *err)
{
    struct sheaf_column_info info = { .name = name, .fields = "" };
    struct buf fields = BUF_INIT(SIZE_MAX / 4);
    struct sheaf_error found = { .code = SHEAF_OK };
    /* date on which the column was dropped, or "" if the column exists */
    char date[MANIFEST_DATE_BYTES] = "";
    struct column_set set;
    int code = SHEAF_OK;

    info.code = column_set_open(source, name, &set, &found);
    info.error = &found;
    if (info.code == SHEAF_OK) {
        column_list_describe(source, &set, &info);
        code = join_fields(&set, &fields, err);
        if (fields.size != 0)
            info.fields = (const char *)fields.data;
    }
    if (code == SHEAF_OK && info.code == SHEAF_ERR_NOT_FOUND)
        code = column_find_drop(source, name, date, err);
    if (code == SHEAF_OK && date[0] == '\0')
        each(context, &info);
    column_set_close(&set);
    buf_free(&fields);
    return code;
}

int sheaf_column_list(const struct sheaf_dataset *d, sheaf_column_fn *each, void *context,
                      struct sheaf_error *error)
{
    struct column_names names = { .names = NULL };
    int code = SHEAF_OK;

    for (size_t s = 0; s < dataset_source_count(d) && code == SHEAF_OK; s++) {
        const struct sheaf_dataset *source = dataset_source_at(d, s);

        code = column_names_list(source, column_list_take_name, &names, error);
        if (names.count != 0)
            qsort(names.names, names.count, sizeof(names.names[0]), column_list_by_name);
        for (size_t i = 0; i < names.count; i++) {
            if (code == SHEAF_OK)
                code = column_list_tell(source, names.names[i], each, context, error);
            free(names.names[i]);
        }
        names.count = 0;
    }
    free(names.names);
    return code;
}
