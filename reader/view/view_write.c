/* SPDX-License-Identifier: MIT
 *
 * Writes a view (a mix of data sets) to a file. First opens the view, so that only a view that can
 * be opened is written. */
#include "reader/view/view.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/over.h"
#include "store/store.h"

static int refuse_existing(const char *path, const char *what, struct sheaf_error *err)
{
    return err_because(err, err_set(err, SHEAF_ERR_EXISTS, "%s: %s", path, what),
                       SHEAF_REASON_DATASET);
}

/* Returns an error if a data set has the name `path`. A store without directories can have a view
 * and a data set of one name, and a reader would find only the view. */
static int view_refuse_dataset(const char *path, struct sheaf_error *err)
{
    char *manifest = store_join(path, MANIFEST_NAME);
    struct store_seen seen = { .is_there = false };
    const int code = manifest == NULL ? err_memory(err, strlen(path))
                                      : store_see(manifest, &seen, err);

    free(manifest);
    return seen.is_there ? refuse_existing(path, "is the name of a data set", err) : code;
}

/* Finds out what is stored at `path`, before a view (a mix of data sets) is written there. Returns
 * an error if there is a data set, or a file that is not a view, because only a view may be
 * replaced. */
static int see_view(const char *path, bool overwrite, struct store_seen *seen,
                    struct sheaf_error *err)
{
    char *text = NULL;
    size_t size;
    int code = store_see(path, seen, err);

    if (code == SHEAF_OK && !seen->is_there)
        code = view_refuse_dataset(path, err);
    if (code != SHEAF_OK || !seen->is_there)
        return code;
    if (!overwrite)
        return refuse_existing(path, "exists", err);
    code = view_read_text(path, &text, &size, err);
    free(text);
    return code != SHEAF_END ? code
         : err_set(err, SHEAF_ERR_EXISTS, "%s: exists, and is not a view: choose another name",
                   path);
}

int sheaf_view_write(const char *document, const char *path, int overwrite,
                     const struct sheaf_read_options *reading, struct sheaf_error *err)
{
    const size_t known = reading == NULL ? 0 : reading->sizeof_options;
    struct sheaf_read_options own;
    struct sheaf_dataset *d = NULL;
    struct store_seen seen, now;
    char *text;
    int code = see_view(path, overwrite != 0, &seen, err);

    if (code != SHEAF_OK)
        return code;
    if (!view_is_name(path))
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: the name of a view ends with .view or .json",
                       path);
    sheaf_read_options_init(&own, sizeof(own));
    if (reading != NULL)
        memcpy(&own, reading, MIN(known, sizeof(own)));
    code = dataset_open_view_text(document, strlen(document), path, &own, true, &d, err);
    for (size_t i = 0; code == SHEAF_OK && i < d->view->document.source_count; i++) {
        struct view_where *where = &d->view->document.sources[i].where;

        /* In memory, the text of a condition names a key file by the hash of its content. In the
         * file, a view must name it by its path. So the text is made again, with the paths, before
         * the view is written. */
        code = view_where_text(where, where->keys, where->not_keys, NULL, err);
    }
    if (code == SHEAF_OK)
        code = view_text(&d->view->document, NULL, SIZE_MAX, &text, err);
    sheaf_dataset_free(d);
    if (code != SHEAF_OK)
        return code;
    /* If another program has written a view at this path after `seen` was determined,
     * store_put_over returns an error. */
    code = store_put_over(path, text, strlen(text), &seen, &now, err);
    free(text);
    return code == SHEAF_ERR_CHANGED && !seen.is_there
         ? refuse_existing(path, "already exists", err) : code;
}
