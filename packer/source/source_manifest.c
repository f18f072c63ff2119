/* SPDX-License-Identifier: MIT
 *
 * SageMaker's manifest file as a source: a JSON array with {"prefix": "s3://bucket/some/prefix/"}
 * as its first element. Each further element is the rest of an object's URL. So the manifest
 * selects some of the objects under the prefix. The class of an object is the directory in its
 * path, as if the prefix itself were the source. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/object_list.h"
#include "packer/source/sizes.h"
#include "packer/source/source.h"
#include "store/store.h"

/* The URL is the prefix followed by the path. */
static int source_manifest_take_path(const char *root, const char *entry, struct sizes *sizes,
                                     struct scan *scan, struct sheaf_error *err)
{
    const char *path = entry;
    const size_t size = strlen(root);
    uint32_t label;
    bool out;
    char *url;
    int code;

    if (size != 0 && root[size - 1] != '/')
        path += *path == '/';
    code = scan_filter(scan, path, false, &out, err);
    if (code == SHEAF_OK && !out)
        code = scan_class_of(scan, path, &label, err);
    if (code != SHEAF_OK || out)
        return code;
    if (asprintf(&url, "%s%s", root, entry) < 0)
        return err_memory(err, size);
    code = sizes_add(sizes, path, url, path == entry, label, err);
    free(url);
    return code;
}

static int source_manifest_take_entries(struct source *s, struct object_list *list,
                                        struct sizes *sizes, struct scan *scan,
                                        struct sheaf_error *err)
{
    char *prefix;
    int code = object_list_prefix(list, &prefix, err);

    if (code == SHEAF_OK) {
        free(s->root);
        s->root = prefix;
    }
    while (code == SHEAF_OK) {
        json_t *entry;

        code = object_list_next(list, &entry, err);
        if (code == SHEAF_OK)
            code = source_manifest_take_path(s->root, json_string_value(entry), sizes, scan, err);
        json_decref(entry);
    }
    return code == SHEAF_END ? sizes_drain(sizes, err) : code;
}

static int scan_manifest(struct source *s, struct scan *scan, struct sheaf_error *err)
{
    struct object_list list;
    struct sizes *sizes = NULL;
    char *text = NULL;
    size_t size = 0;
    int code = store_get(s->url, OBJECT_LIST_LIMIT, &text, &size, err);

    object_list_begin(&list, s->url, text, size);
    if (code == SHEAF_OK)
        code = sizes_open(&sizes, scan, err);
    if (code == SHEAF_OK)
        code = source_manifest_take_entries(s, &list, sizes, scan, err);
    sizes_close(sizes);
    free(text);
    return code;
}

static bool source_manifest_detect(const char *url, const char *text, size_t size)
{
    (void)url;
    return size > 0 && text[0] == '[';
}

const struct source_ops source_manifest_ops = {
    .name = "manifest", .noun = "manifest", .objects = SOURCE_OBJECTS_LISTED,
    .suffixes = (const char *const[]){ ".manifest", ".json", NULL },
    .detect = source_manifest_detect, .open = source_open_anywhere, .scan = scan_manifest,
};
