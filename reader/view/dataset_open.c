/* SPDX-License-Identifier: MIT
 *
 * Opens a data set by its sources. A source is a view, a data set with a manifest, or foreign
 * shards (shards without a manifest). If there are several data sets, they become one data set, a
 * union. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "reader/dataset/dataset.h"
#include "reader/dataset/kept_manifest.h"
#include "reader/view/view.h"
#include "store/store.h"

/* Called if the program wants all files with the same key to be joined to one sample, even if other
 * files lie between them. Returns true if the data set is an index of foreign shards (shards of
 * other software), and files were not joined when this index was made. In this case, the shards
 * must be opened again without this index. */
static bool is_to_join(const struct sheaf_dataset *d)
{
    return d != NULL && d->has_manifest && !d->manifest.ours && !d->manifest.joined;
}

/* Opens a source if it is a view (a mix of data sets), or if it has a manifest. If it is neither,
 * sets *dataset to NULL. */
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

/* Opens the sources in order. Foreign shards that follow each other become one data set. A source
 * that is a single file is a foreign shard, unless its name is the name of a manifest or of a
 * view. */
static int open_each(const char *const *sources, const bool *is_file, size_t count, bool joins,
                     struct sheaf_dataset **opened, size_t *opened_count, struct sheaf_error *err)
{
    /* Index of the first source that was not opened yet. The sources from this index up to index i
     * are foreign shards (shards without a manifest), which will be opened together. */
    size_t first = 0;
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

/* Sets is_file[i] to true if source i is a single file. If this thread opens a source offline, that
 * is, from a cache and without its server, the source is a data set. Its server is not asked. */
static int find_files(const char *const *sources, size_t count, bool *is_file,
                      struct sheaf_error *err)
{
    bool any = false;

    for (size_t i = 0; i < count; i++)
        any |= kept_manifest_is_offline(sources[i]);
    for (size_t i = 0; i < count && any; i++) {
        uint64_t bytes;

        is_file[i] = sources[i][0] != '@' && !kept_manifest_is_offline(sources[i]) &&
                     store_size(sources[i], &bytes, NULL) == SHEAF_OK;
    }
    return any ? SHEAF_OK : foreign_find_files(sources, count, is_file, err);
}

static int open_several(const char *const *sources, size_t count, bool joins,
                        struct sheaf_dataset **dataset, struct sheaf_error *err)
{
    struct sheaf_dataset **opened = calloc(count + 1, sizeof(opened[0]));
    bool *is_file = calloc(count + 1, sizeof(is_file[0]));
    size_t opened_count = 0;
    int code = opened == NULL || is_file == NULL ? err_memory(err, count * sizeof(opened[0]))
                                                 : find_files(sources, count, is_file, err);

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

/* ---- Sources in one text --------------------------------------------------------------------- */

/* The sources of a call. One text may name several sources: "a.tar::b.tar" names two, as in
 * webdataset. */
struct source_list {
    char **list;
    size_t count;
};

static void dataset_open_free_list(struct source_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->list[i]);
    free(l->list);
}

static int dataset_open_add_part(struct source_list *l, const char *text, size_t size,
                                 struct sheaf_error *err)
{
    char **grown = reallocarray(l->list, l->count + 1, sizeof(grown[0]));

    if (grown == NULL)
        return err_memory(err, (l->count + 1) * sizeof(grown[0]));
    l->list = grown;
    grown[l->count] = strndup(text, size);
    return grown[l->count] == NULL ? err_memory(err, size) : (l->count++, SHEAF_OK);
}

/* Returns true if `source` is a list of sources separated by "::", and not the name of a file. */
static bool is_list(const char *source)
{
    uint64_t bytes;

    return strstr(source, "::") != NULL && source[0] != '@' &&
           store_size(source, &bytes, NULL) != SHEAF_OK;
}

static int split_source(struct source_list *l, const char *source, struct sheaf_error *err)
{
    const char *next = is_list(source) ? strstr(source, "::") : NULL;
    int code = SHEAF_OK;

    for (const char *at = source; at != NULL && code == SHEAF_OK;) {
        const size_t size = next == NULL ? strlen(at) : (size_t)(next - at);

        if (size == 0 && at != source + strlen(source))
            return err_set(err, SHEAF_ERR_ARGUMENT, "%s: names nothing before \"::\"", source);
        if (size != 0 || at == source)
            code = dataset_open_add_part(l, at, size, err);
        at = next == NULL ? NULL : next + 2;
        next = at == NULL ? NULL : strstr(at, "::");
    }
    return code;
}

static int dataset_open_sources(const char *const *sources, size_t source_count, bool joins,
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

static int open_split(const char *const *sources, size_t source_count, bool joins,
                      struct sheaf_dataset **dataset, struct sheaf_error *err)
{
    struct source_list l = { .count = 0 };
    int code = SHEAF_OK;

    for (size_t i = 0; i < source_count && code == SHEAF_OK; i++)
        code = split_source(&l, sources[i], err);
    if (code == SHEAF_OK)
        code = dataset_open_sources((const char *const *)l.list, l.count, joins, dataset, err);
    dataset_open_free_list(&l);
    return code;
}

int sheaf_dataset_open(const char *const *sources, size_t source_count,
                       struct sheaf_dataset **dataset, struct sheaf_error *err)
{
    return open_split(sources, source_count, false, dataset, err);
}

int sheaf_dataset_open_offline(const char *const *sources, size_t source_count,
                               const char *cache_directory, struct sheaf_dataset **dataset,
                               struct sheaf_error *err)
{
    const char *before = kept_manifest_offline(cache_directory);
    int code = open_split(sources, source_count, false, dataset, err);

    kept_manifest_offline(before);
    if (code != SHEAF_OK)
        return code;
    (*dataset)->offline = strdup(cache_directory);
    if ((*dataset)->offline != NULL)
        return SHEAF_OK;
    sheaf_dataset_free(*dataset);
    return err_memory(err, strlen(cache_directory));
}

int sheaf_dataset_open_joined(const char *const *sources, size_t source_count,
                              struct sheaf_dataset **dataset, struct sheaf_error *err)
{
    return open_split(sources, source_count, true, dataset, err);
}
