/* SPDX-License-Identifier: MIT
 *
 * Opens a data set by its sources. A source is a view, a data set with a manifest, or foreign
 * shards (shards without a manifest). If there are several data sets, they become one data set, a
 * union. The sources of a view are opened in the same way, except that none of them may be a
 * view. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "reader/dataset/dataset.h"
#include "reader/dataset/kept_manifest.h"
#include "reader/view/view.h"
#include "reader/view/view_select.h"
#include "store/store.h"

/* ---- Views ----------------------------------------------------------------------------------- */

static char *view_directory_of(const char *url)
{
    const char *slash = strrchr(url, '/');

    return slash == NULL ? strdup("") : strndup(url, (size_t)(slash - url) + 1);
}

/* Returns an error if the source at `url` is a view (a mix of data sets), because a view cannot be
 * a source of another view. Only reads the text of the source and does not open it. If the source
 * were the same view, opening it would not end. */
static int view_refuse(const char *url, struct sheaf_error *err)
{
    char *text = NULL;
    size_t size = 0;
    int code = view_is_name(url) ? view_read_text(url, &text, &size, err) : SHEAF_END;

    free(text);
    if (code == SHEAF_OK)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: a view of a view: name its sources instead",
                       url);
    return code == SHEAF_END ? SHEAF_OK : code;
}

static int view_open_source(struct dataset_view *v, size_t i, const struct view_keys_how *how,
                            struct sheaf_dataset **source, struct sheaf_error *err)
{
    struct view_source *s = &v->document.sources[i];
    char *path = view_keys_path(how->directory, s->source);
    const char *const paths[] = { path };
    int code = path == NULL ? err_memory(err, strlen(s->source)) : view_refuse(path, err);

    if (code == SHEAF_OK)
        code = sheaf_dataset_open(paths, 1, source, err);
    if (code == SHEAF_OK && (*source)->is_stream)
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: shards that are read as a stream, whose "
                       "samples are not known: index them first", path);
    if (code == SHEAF_OK)
        code = view_select(*source, &s->where, how, &v->chosen[i].chosen, err);
    free(path);
    return code;
}

/* Opens all sources of a view (a mix of data sets). `url` is that of the view, for messages. If
 * this fails, the caller must free the sources that were opened. */
static int view_open_sources(struct dataset_view *v, const char *url,
                             const struct view_keys_how *how, struct sheaf_dataset **sources,
                             struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = 0; i < v->document.source_count && code == SHEAF_OK; i++) {
        code = view_open_source(v, i, how, &sources[i], err);
        if (code != SHEAF_OK && err != NULL)
            err_prefix(err, "%s: ", url);
        if (code == SHEAF_OK) {
            sources[i]->fields = v->document.sources[i].fields;
            sources[i]->field_count = v->document.sources[i].field_count;
        }
    }
    return code;
}

static int open_document(struct dataset_view *v, const char *url,
                         const struct sheaf_read_options *reading, struct chosen_file *file,
                         struct sheaf_dataset **dataset, struct sheaf_error *err)
{
    const size_t count = v->document.source_count;
    struct sheaf_dataset **sources = calloc(count, sizeof(sources[0]));
    char *directory = view_directory_of(url), *shown = text_shown_url(url);
    const struct view_keys_how how = { directory, reading, file };
    int code = SHEAF_OK;

    v->chosen = calloc(count, sizeof(v->chosen[0]));
    if (sources == NULL || directory == NULL || shown == NULL || v->chosen == NULL)
        code = err_memory(err, count * sizeof(v->chosen[0]));
    if (code == SHEAF_OK)
        code = view_open_sources(v, shown, &how, sources, err);
    if (code == SHEAF_OK)
        code = view_make_mix(v, sources, err);
    if (code == SHEAF_OK)
        code = view_name_stages(v, sources, err);
    if (code == SHEAF_OK) {
        const struct union_options options = { .is_view = true,
                                               .by_number = v->document.by_number,
                                               .classes = v->document.classes,
                                               .class_count = v->document.class_count };

        /* The union now owns the sources. */
        code = dataset_unite(sources, count, &options, dataset, err);
    } else {
        for (size_t i = 0; sources != NULL && i < count; i++)
            sheaf_dataset_free(sources[i]);
    }
    free(sources);
    free(directory);
    if (code == SHEAF_OK) {
        free((*dataset)->url);
        (*dataset)->url = shown;
        view_take_numbers(*dataset, v);
        return SHEAF_OK;
    }
    free(shown);
    return code;
}

/* Returns true if the view (a mix of data sets) has conditions on keys or columns. The samples that
 * such conditions choose are stored in a file (chosen_file.h). */
static bool keeps_chosen(const struct view *view)
{
    for (size_t i = 0; i < view->source_count; i++) {
        const struct view_where *w = &view->sources[i].where;

        if (w->keys != NULL || w->not_keys != NULL || w->key_glob != NULL || w->columns != NULL)
            return true;
    }
    return false;
}

int dataset_open_view_text(const char *text, size_t size, const char *url,
                           const struct sheaf_read_options *reading, bool keep,
                           struct sheaf_dataset **dataset, struct sheaf_error *err)
{
    struct dataset_view *v = calloc(1, sizeof(*v));
    struct chosen_file file = { .data = NULL };
    int code = v == NULL ? err_memory(err, sizeof(*v))
                         : view_parse(text, size, &v->document, err);

    if (code != SHEAF_OK && err != NULL)
        err_prefix(err, "%s: ", url);
    if (code == SHEAF_OK && keeps_chosen(&v->document))
        chosen_file_open(&file, url);
    if (code == SHEAF_OK)
        code = open_document(v, url, reading, &file, dataset, err);
    if (code != SHEAF_OK)
        dataset_view_free(v);
    if (code == SHEAF_OK && keep)
        code = chosen_file_put(&file, url, err);
    chosen_file_free(&file);
    return code;
}

/* Opens the view (a mix of data sets) that is stored at `url`. Returns SHEAF_END if `url` is not a
 * view, and SHEAF_ERR_UNSUPPORTED if its document has an invalid value. */
static int dataset_open_view(const char *url, struct sheaf_dataset **dataset,
                             struct sheaf_error *err)
{
    char *text = NULL;
    size_t size = 0;
    int code = view_read_text(url, &text, &size, err);

    if (code == SHEAF_OK) {
        code = dataset_open_view_text(text, size, url, NULL, false, dataset, err);
        if (code == SHEAF_ERR_ARGUMENT) {   /* an error of the document, not of the caller */
            code = SHEAF_ERR_UNSUPPORTED;
            if (err != NULL)
                err->code = code;
        }
    }
    free(text);
    return code;
}

/* ---- Sources --------------------------------------------------------------------------------- */

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
