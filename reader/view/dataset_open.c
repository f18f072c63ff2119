/* SPDX-License-Identifier: MIT
 *
 * Opening a data set by its sources: each is a view, or has a manifest, or is foreign shards; of
 * several a union is made. */
#include <stdlib.h>

#include "base/error.h"
#include "reader/dataset/dataset.h"
#include "reader/view/view.h"

/* Shards whose samples are to be joined are opened as foreign ones, also where they have an index,
 * unless that has them joined. */
static bool is_to_join(const struct sheaf_dataset *d)
{
    return d != NULL && d->has_manifest && !d->manifest.ours && !d->manifest.joined;
}

/* Opens the source if it is a view or has a manifest; else *dataset is NULL. */
static int open_one(const char *source, bool joins, struct sheaf_dataset **dataset,
                    struct sheaf_error *err)
{
    int code = view_is_name(source) ? dataset_open_view(source, dataset, err) : SHEAF_END;

    if (code != SHEAF_END)
        return code;
    code = dataset_open_manifest(source, dataset, err);
    if (code != SHEAF_OK || !joins || !is_to_join(*dataset))
        return code;
    sheaf_dataset_free(*dataset);
    return dataset_open_foreign(&source, 1, true, dataset, err);
}

/* Opens sources in turn: data sets, and as one of them the foreign shards between two.  A file is
 * not asked whether it is a directory with a manifest. */
static int open_each(const char *const *sources, const bool *is_file, size_t count, bool joins,
                     struct sheaf_dataset **opened, size_t *opened_count, struct sheaf_error *err)
{
    size_t first = 0;       /* of the foreign shards that are not open yet */
    int code = SHEAF_OK;

    for (size_t i = 0; i <= count && code == SHEAF_OK; i++) {
        struct sheaf_dataset *one = NULL;

        if (i < count && (!is_file[i] || dataset_is_manifest_path(sources[i])
                          || view_is_name(sources[i])))
            code = open_one(sources[i], joins, &one, err);
        if (code == SHEAF_OK && (one != NULL || i == count) && first < i)
            code = dataset_open_files(sources + first, is_file + first, i - first, joins,
                                      &opened[*opened_count], err);
        if (code == SHEAF_OK && (one != NULL || i == count) && first < i)
            ++*opened_count;
        if (one != NULL) {
            opened[(*opened_count)++] = one;
            first = i + 1;
        }
    }
    return code;
}

static int open_several(const char *const *sources, size_t count, bool joins,
                        struct sheaf_dataset **dataset, struct sheaf_error *err)
{
    struct sheaf_dataset **opened = calloc(count + 1, sizeof(opened[0]));
    bool *is_file = calloc(count + 1, sizeof(is_file[0]));
    size_t opened_count = 0;
    int code = opened == NULL || is_file == NULL ? err_memory(err, count * sizeof(opened[0]))
                                                 : foreign_find_files(sources, count, is_file, err);

    if (code == SHEAF_OK)
        code = open_each(sources, is_file, count, joins, opened, &opened_count, err);
    if (code == SHEAF_OK && opened_count == 1)
        *dataset = opened[0];
    else if (code == SHEAF_OK)
        code = dataset_unite(opened, opened_count, &(struct union_options){ 0 }, dataset, err);
    else
        for (size_t i = 0; i < opened_count; i++)
            sheaf_dataset_free(opened[i]);
    free(opened);
    free(is_file);
    return code;
}

static int open_sources(const char *const *sources, size_t source_count, bool joins,
                        struct sheaf_dataset **dataset, struct sheaf_error *err)
{
    int code;

    if (source_count == 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "a data set needs at least one source");
    if (source_count > 1)
        return open_several(sources, source_count, joins, dataset, err);
    code = open_one(sources[0], joins, dataset, err);
    if (code == SHEAF_OK && *dataset == NULL)
        code = dataset_open_foreign(sources, 1, joins, dataset, err);
    return code;
}

int sheaf_dataset_open(const char *const *sources, size_t source_count,
                       struct sheaf_dataset **dataset, struct sheaf_error *err)
{
    return open_sources(sources, source_count, false, dataset, err);
}

int sheaf_dataset_open_joined(const char *const *sources, size_t source_count,
                              struct sheaf_dataset **dataset, struct sheaf_error *err)
{
    return open_sources(sources, source_count, true, dataset, err);
}
