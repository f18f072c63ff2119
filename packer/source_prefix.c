/* SPDX-License-Identifier: MIT
 *
 * A prefix of objects in a store.  It is to them what a tree is to files: the class of an object
 * is the part of its name up to the last slash. */
#include "packer/source.h"

#include <string.h>

#include "base/error.h"
#include "store/store.h"

struct walking {
    struct scan *scan;
    struct sheaf_error *err;
};

static int take(void *context, const struct store_entry *entry)
{
    const struct walking *w = context;
    const struct catalog_stat found = { .bytes = entry->bytes, .stamp = entry->stamp };
    uint32_t label;
    int code = scan_class_of(w->scan, entry->name, &label, w->err);

    return code == SHEAF_OK ? scan_add_object(w->scan, entry->name, &found, label, w->err) : code;
}

int source_scan_prefix(const struct source *s, struct scan *scan, struct sheaf_error *err)
{
    struct walking walking = { scan, err };

    return store_walk(s->url, take, &walking, err);
}
