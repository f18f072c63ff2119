/* SPDX-License-Identifier: MIT
 *
 * Finds the views (mixes of data sets) that have a condition on a certain column, and so cannot be
 * opened without this column. Views can be stored anywhere. Only the directory of the data set and
 * its parent directory are searched. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/notice.h"
#include "columns/column_write.h"
#include "formats/view.h"
#include "store/store.h"

/* largest number of entries of a directory that are examined */
#define NAMES_MOST 10000u

struct views_search {
    const struct sheaf_dataset *base;
    const char *name;           /* name of the column */
    const char *directory;      /* directory in which views are looked for */
    size_t listed;
};

/* Returns whether `source` is the data set to which the column belongs. `source` is the name of a
 * source in a view (a mix of data sets). */
static bool is_base(const struct views_search *s, const char *source)
{
    const bool is_whole = source[0] == '/' || strstr(source, "://") != NULL;
    char *path = is_whole ? strdup(source) : store_join(s->directory, source);
    const char *const paths[] = { path };
    struct sheaf_dataset *dataset = NULL;
    bool is_same = false;

    if (path != NULL && !view_is_name(path) &&
        sheaf_dataset_open(paths, 1, &dataset, NULL) == SHEAF_OK)
        is_same = strcmp(dataset->manifest.fingerprint, s->base->manifest.fingerprint) == 0;
    sheaf_dataset_free(dataset);
    free(path);
    return is_same;
}

/* Returns the view's first condition on the column in `s`, or NULL if there is no such
 * condition. */
static const struct view_column *find_condition(const struct views_search *s,
                                                const struct view *view)
{
    const size_t size = strlen(s->name);

    for (size_t i = 0; i < view->source_count; i++) {
        const struct view_where *w = &view->sources[i].where;

        for (size_t k = 0; k < w->column_count; k++)
            if (w->columns[k].name_size == size &&
                memcmp(w->columns[k].field, s->name, size) == 0 &&
                is_base(s, view->sources[i].source))
                return &w->columns[k];
    }
    return NULL;
}

static void tell_view(const struct views_search *s, const char *url)
{
    const struct view_column *condition;
    struct view view;
    char *text = NULL;
    size_t size = 0;

    if (store_get(url, VIEW_BYTES_MOST, &text, &size, NULL) == SHEAF_OK &&
        view_begins(text, size) && view_parse(text, size, &view, NULL) == SHEAF_OK) {
        condition = find_condition(s, &view);
        if (condition != NULL)
            notice_say(url, "this view can no longer be opened: it has a condition on %s, but the "
                       "column %s was dropped", condition->field, s->name);
        view_free(&view);
    }
    free(text);
}

static int see_file(void *context, const struct store_entry *entry)
{
    struct views_search *s = context;
    const char *suffix = strrchr(entry->name, '.');
    char *url;

    if (s->listed++ == NAMES_MOST)
        return SHEAF_END;
    if (suffix == NULL || strcmp(suffix, ".view") != 0 || entry->bytes > VIEW_BYTES_MOST)
        return SHEAF_OK;
    url = store_join(s->directory, entry->name);
    if (url != NULL)
        tell_view(s, url);
    free(url);
    return SHEAF_OK;
}

/* Returns the parent of `directory`, or NULL if it has no parent. The caller must free the
 * result. */
static char *directory_above(const char *directory)
{
    const char *slash = strrchr(directory, '/'), *name = slash == NULL ? directory : slash + 1;

    if (!store_is_local(directory))
        return slash == NULL || slash[-1] == '/' ? NULL
                                                 : strndup(directory, (size_t)(slash - directory));
    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return store_join(directory, "..");
    return slash == NULL ? strdup(".")
                         : strndup(directory, slash == directory ? 1 : (size_t)(slash - directory));
}

void column_views_tell(const struct sheaf_dataset *base, const char *name)
{
    struct views_search s = { .base = base, .name = name };
    char *columns = NULL, *directory = NULL, *above = NULL;

    if (column_directory(base, NULL, 0, &columns, NULL) == SHEAF_OK)
        directory = strrchr(columns, '/') == NULL ? strdup(".")
                  : strndup(columns, (size_t)(strrchr(columns, '/') - columns));
    above = directory == NULL ? NULL : directory_above(directory);
    for (int i = 0; i < 2; i++) {
        s.directory = i == 0 ? directory : above;
        s.listed = 0;
        if (s.directory != NULL)
            (void)store_list(s.directory, see_file, &s, NULL);
    }
    free(above);
    free(directory);
    free(columns);
}
