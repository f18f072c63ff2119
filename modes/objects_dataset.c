/* SPDX-License-Identifier: MIT
 *
 * Selects the shards among the objects in the directory of a data set. In Pipe mode, a program
 * reads all objects one after another. Without this selection, the program would mistake the index,
 * the manifest and other files for samples. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/manifest_files.h"
#include "modes/objects.h"
#include "modes/safe_path.h"
#include "reader/dataset/dataset.h"
#include "store/over.h"


static int objects_dataset_by_name(const void *name, const void *object)
{
    return strcmp(name, ((const struct object *)object)->name);
}

static struct object *objects_dataset_find(const struct objects *o, const char *name)
{
    return bsearch(name, o->items, o->count, sizeof(o->items[0]), objects_dataset_by_name);
}

/* Moves the shards of the data set to the beginning of the list of objects, in the order of the
 * manifest. Returns an error if a shard is missing or has another size. */
static int objects_dataset_keep(struct objects *o, const struct manifest *m,
                                struct sheaf_error *err)
{
    struct object *shards = calloc(m->shard_count + 1, sizeof(*shards));
    int code = shards == NULL ? err_memory(err, m->shard_count * sizeof(*shards)) : SHEAF_OK;

    for (size_t i = 0; i < m->shard_count && code == SHEAF_OK; i++) {
        const struct object *found = objects_dataset_find(o, m->shards[i].name);

        if (found == NULL)
            code = err_set(err, SHEAF_ERR_NOT_FOUND, "%s%s: is missing: %s names it", o->root,
                           m->shards[i].name, MANIFEST_NAME);
        else if (found->bytes != m->shards[i].bytes)
            code = err_set(err, SHEAF_ERR_CHANGED, "%s%s: has %llu byte%s, but %s says %llu",
                           o->root, m->shards[i].name, (unsigned long long)found->bytes,
                           plural(found->bytes), MANIFEST_NAME,
                           (unsigned long long)m->shards[i].bytes);
        else
            shards[i] = *found;
    }
    if (code == SHEAF_OK && m->shard_count != 0)
        memcpy(o->items, shards, m->shard_count * sizeof(*shards));
    free(shards);
    return code;
}

static int objects_dataset_read_manifest(const char *directory, struct manifest *m,
                                         struct sheaf_error *err)
{
    char *url = store_join(directory, MANIFEST_NAME), *text = NULL;
    size_t size = 0;
    int code = url == NULL ? err_memory(err, strlen(directory))
                           : store_get(url, MANIFEST_LIMIT, &text, &size, err);

    if (code == SHEAF_OK) {
        code = manifest_parse(text, size, m, err);
        if (code == SHEAF_ERR_NOT_FOUND)
            code = manifest_refuse_unfinished(directory, err);
    }
    free(url);
    free(text);
    return code;
}

/* Returns an error if the object is the short document that an unfinished packing run has put in
 * place of the manifest. This document is shorter than any manifest, so only short objects are
 * read. */
static int refuse_stand_in(const struct objects *o, const struct object *object,
                           struct sheaf_error *err)
{
    char *url, *text = NULL, run[33], date[MANIFEST_DATE_BYTES];
    size_t size = 0;
    int code;

    if (strcmp(safe_path_base(object->name), MANIFEST_NAME) != 0 ||
        (object->bytes >= MANIFEST_UNFINISHED_LIMIT && object->bytes != OBJECT_UNKNOWN))
        return SHEAF_OK;
    url = object_url(o, object);
    code = url == NULL ? err_memory(err, strlen(object->name))
                       : store_get(url, MANIFEST_UNFINISHED_LIMIT, &text, &size, err);
    if (code == SHEAF_ERR_LIMIT)
        code = SHEAF_OK;
    else if (code == SHEAF_OK && manifest_is_unfinished(text, size, run) &&
             !manifest_is_dropped(text, size, date)) {
        url[strlen(url) - strlen(MANIFEST_NAME)] = '\0';
        code = manifest_refuse_unfinished(url, err);
    }
    free(text);
    free(url);
    return code;
}

/* Reads a claim, which is the file that says that a packing run is at work. Sets *keep to whether
 * the existing data set or shards may be used although this run is not finished. */
static int claim_keeps(const struct objects *o, const char *name, bool *keep,
                       struct sheaf_error *err)
{
    const struct object claim = { .name = name };
    char *url = object_url(o, &claim), *text = NULL;
    size_t size = 0;
    int code = url == NULL ? err_memory(err, strlen(name))
                           : store_get(url, MANIFEST_CLAIM_LIMIT, &text, &size, err);

    *keep = code == SHEAF_OK && manifest_claim_keeps(text, size);
    free(text);
    free(url);
    return code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_LIMIT ? SHEAF_OK : code;
}

/* Sets *keep to true if there is at least one unfinished run, and each unfinished run only appends
 * to the existing data set or indexes existing shards. In this case, the existing data may be
 * used. */
static int all_keep(const struct objects *o, bool *keep, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    *keep = o->claims != NULL;
    for (const struct object_claim *c = o->claims; c != NULL && *keep && code == SHEAF_OK;
         c = c->next)
        code = claim_keeps(o, c->name, keep, err);
    return code;
}

int objects_refuse_unfinished(const struct objects *o, const char *source,
                              struct sheaf_error *err)
{
    bool keep;
    int code = all_keep(o, &keep, err);

    if (code == SHEAF_OK && o->unfinished != 0 && !keep)
        return manifest_refuse_unfinished(source, err);
    for (size_t i = 0; i < o->count && code == SHEAF_OK; i++)
        code = refuse_stand_in(o, &o->items[i], err);
    if (code != SHEAF_OK || !o->is_listing || objects_dataset_find(o, MANIFEST_NAME) != NULL)
        return code;
    return o->is_part ? dataset_refuse_unfinished(o->root, err)
                      : dataset_refuse_unfinished_split(o->root, err);
}

/* Adds a file of the data set to the objects. If `may_lack` is set, adds the file only if it
 * exists. The response "access denied" counts as "does not exist", because S3 sends this response
 * for a missing file if the program has no permission to list. */
static int objects_dataset_add_file(void *context, const char *name, bool may_lack,
                                    struct sheaf_error *err)
{
    struct objects *o = context;
    const struct object found = { .name = name, .bytes = OBJECT_UNKNOWN };
    char *url = may_lack ? object_url(o, &found) : NULL;
    struct store_seen seen = { .is_there = true };
    int code = may_lack && url == NULL ? err_memory(err, strlen(name)) : SHEAF_OK;

    if (code == SHEAF_OK && may_lack)
        code = store_see(url, &seen, err);
    free(url);
    if (code == SHEAF_ERR_ACCESS)
        return SHEAF_OK;
    return code == SHEAF_OK && seen.is_there ? objects_add(o, &found, NULL, err) : code;
}

int objects_list_dataset(const char *directory, struct objects *o, struct sheaf_error *err)
{
    struct manifest manifest;
    int code = objects_dataset_read_manifest(directory, &manifest, err);

    if (code != SHEAF_OK)
        return code;
    free(o->root);
    o->root = store_join(directory, "");
    code = o->root == NULL ? err_memory(err, strlen(directory))
                           : objects_dataset_add_file(o, MANIFEST_NAME, false, err);
    if (code == SHEAF_OK)
        code = manifest_each_file(&manifest, objects_dataset_add_file, o, err);
    manifest_clear(&manifest);
    return code;
}

int objects_keep_shards(struct objects *o, uint64_t *left_out, struct sheaf_error *err)
{
    struct manifest manifest;
    int code;

    *left_out = 0;
    if (!o->is_listing || objects_dataset_find(o, MANIFEST_NAME) == NULL)
        return SHEAF_OK;
    code = objects_dataset_read_manifest(o->root, &manifest, err);
    if (code != SHEAF_OK)       /* a file of another program with that name */
        return code == SHEAF_ERR_CORRUPT ? SHEAF_OK : code;
    code = objects_dataset_keep(o, &manifest, err);
    if (code == SHEAF_OK) {
        *left_out = o->count - manifest.shard_count;
        o->count = o->unit_count = manifest.shard_count;
    }
    manifest_clear(&manifest);
    return code;
}
