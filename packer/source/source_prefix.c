/* SPDX-License-Identifier: MIT
 *
 * A prefix of objects in a store as a source. The prefix is handled like a directory tree: the
 * class of an object is the part of its name up to the last slash. Clutter (objects that are not
 * data; see clutter.h) is left out and counted. */
#include "packer/source/source.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/store.h"

struct prefix_walking {
    struct scan *scan;
    const char *below;          /* the text before the names; NULL: empty */
    struct sheaf_error *err;
};

static int source_prefix_take_object(const struct prefix_walking *w, const char *path,
                                     const struct store_entry *entry)
{
    const struct catalog_stat found = { .bytes = entry->bytes, .stamp = entry->stamp };
    uint32_t label;
    bool out;
    int code = scan_leave_out(w->scan, path, &out, w->err);

    if (code != SHEAF_OK || out)
        return code;
    code = scan_class_of(w->scan, path, &label, w->err);
    return code == SHEAF_OK ? scan_add_object(w->scan, path, &found, label, w->err) : code;
}

static int source_prefix_take(void *context, const struct store_entry *entry)
{
    const struct prefix_walking *w = context;
    char *path;
    int code;

    if (store_is_mark(entry)) {
        w->scan->passed_over++;
        return SHEAF_OK;
    }
    if (w->below == NULL)
        return source_prefix_take_object(w, entry->name, entry);
    path = store_join(w->below, entry->name);
    code = path == NULL ? err_memory(w->err, strlen(entry->name))
                        : source_prefix_take_object(w, path, entry);
    free(path);
    return code;
}

static int scan_prefix(struct source *s, struct scan *scan, struct sheaf_error *err)
{
    struct prefix_walking walking = { scan, s->below, err };

    return store_walk(s->url, source_prefix_take, &walking, err);
}

const struct source_ops source_prefix_ops = {
    .name = "tree", .noun = "prefix", .at = SOURCE_AT_PREFIX,
    .objects = SOURCE_OBJECTS_BELOW, .is_tree = true, .joins = true,
    .open = source_open_here, .scan = scan_prefix,
};
