/* SPDX-License-Identifier: MIT
 *
 * Lists the objects under a prefix or in a directory, or a single object. The objects of manifests
 * are listed by objects_manifest.c and objects_dataset.c. */
#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/manifest.h"
#include "modes/objects.h"
#include "modes/safe_path.h"
#include "packer/source/source.h"
#include "store/store.h"

static int objects_by_name(const void *a, const void *b)
{
    return strcmp(((const struct object *)a)->name, ((const struct object *)b)->name);
}

static int objects_check(struct watch *watch, const struct objects *o, struct sheaf_error *err)
{
    const struct sheaf_progress progress = { .stage = "list", .done_count = o->count };

    if (o->count % 256 == 0)
        watch_show(watch, &progress);
    return watch_check(watch, err);
}

/* Returns whether `name` is the name of a temporary file, which a program has not finished
 * writing. */
static bool objects_is_partial(const char *name)
{
    const size_t size = strlen(STORE_PARTIAL);
    const char *at = name;

    while ((at = strstr(at, STORE_PARTIAL "/")) != NULL) {
        if (at == name || at[-1] == '/')
            return true;
        at += size;
    }
    return false;
}

static int note_partial(struct objects *o, const char *name, struct sheaf_error *err)
{
    static const char suffix[] = STORE_PARTIAL "/plan";
    const size_t size = strlen(name);
    struct object_claim *claim;

    o->unfinished++;
    if (size < strlen(suffix) || strcmp(name + size - strlen(suffix), suffix) != 0)
        return SHEAF_OK;
    claim = arena_take(&o->arena, sizeof(*claim));
    if (claim == NULL)
        return err_memory(err, sizeof(*claim));
    *claim = (struct object_claim){ arena_text(&o->arena, name, size), o->claims };
    o->claims = claim;
    return claim->name == NULL ? err_memory(err, size) : SHEAF_OK;
}

/* ---- Prefixes -------------------------------------------------------------------------------- */

struct walking {
    struct objects *objects;
    struct watch *watch;
    struct sheaf_error *err;
    const char *beginning;      /* of the names that count */
};

static int objects_take_entry(void *context, const struct store_entry *entry)
{
    const struct walking *w = context;
    const struct object found = { .name = entry->name, .bytes = entry->bytes,
                                  .stamp = entry->stamp, .modified_s = entry->modified_s };
    int code = objects_check(w->watch, w->objects, w->err);

    if (code != SHEAF_OK || strncmp(entry->name, w->beginning, strlen(w->beginning)) != 0 ||
        store_is_mark(entry))
        return code;
    if (objects_is_partial(entry->name))
        return note_partial(w->objects, entry->name, w->err);
    return objects_add(w->objects, &found, entry->etag, w->err);
}

static int objects_walk(const char *root, const char *beginning, struct objects *o,
                        struct watch *watch, struct sheaf_error *err)
{
    struct walking walking = { o, watch, err, beginning };

    free(o->root);
    o->root = strdup(root);
    return o->root == NULL ? err_memory(err, strlen(root))
                           : store_walk(root, objects_take_entry, &walking, err);
}

/* Lists the objects under a prefix. As in SageMaker, a prefix may be a directory, or the beginning
 * of the names of objects, as in "s3://bucket/train/shard-". */
static int list_prefix(const struct source *s, struct objects *o, struct watch *watch,
                       struct sheaf_error *err)
{
    const char *host = strstr(s->url, "://"), *slash = strrchr(s->url, '/');
    char *above;
    int code = objects_walk(s->root, "", o, watch, err);

    if (code == SHEAF_ERR_ACCESS && objects_list_dataset(s->root, o, NULL) == SHEAF_OK)
        return SHEAF_OK;
    if (code != SHEAF_OK || o->count != 0 || host == NULL || slash < host + 3 || slash[1] == '\0')
        return code;
    above = strndup(s->url, (size_t)(slash - s->url) + 1);
    o->is_part = true;
    code = above == NULL ? err_memory(err, strlen(s->url)) : objects_walk(above, slash + 1, o,
                                                                          watch, err);
    free(above);
    return code;
}

/* ---- Directories ----------------------------------------------------------------------------- */

static int objects_take_file(const FTSENT *f, struct objects *o, struct watch *watch,
                             struct sheaf_error *err)
{
    const struct object found = {
        .name = f->fts_path + strlen(o->root), .bytes = (uint64_t)f->fts_statp->st_size,
        .modified_s = f->fts_statp->st_mtim.tv_sec,
    };
    int code = objects_check(watch, o, err);

    if (code != SHEAF_OK)
        return code;
    if (objects_is_partial(found.name))
        return f->fts_info == FTS_F ? note_partial(o, found.name, err) : SHEAF_OK;
    switch (f->fts_info) {
    case FTS_F: return objects_add(o, &found, NULL, err);
    case FTS_D: case FTS_DP: return SHEAF_OK;
    case FTS_DC: return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: a directory loop", f->fts_path);
    case FTS_DNR: case FTS_ERR: case FTS_NS:
        return err_errno(err, f->fts_errno, "%s: cannot read", f->fts_path);
    case FTS_SLNONE:
        return err_set(err, SHEAF_ERR_NOT_FOUND, "%s: is a symbolic link to a file that is not "
                       "there", f->fts_path);
    default: return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: not a file", f->fts_path);
    }
}

/* Symbolic links are followed. */
static int list_tree(const char *root, struct objects *o, struct watch *watch,
                     struct sheaf_error *err)
{
    char *paths[2] = { NULL, NULL };
    const FTSENT *f;
    FTS *fts;
    int code = SHEAF_OK;

    o->root = store_join(root, "");
    paths[0] = o->root;
    fts = o->root == NULL ? NULL : fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, NULL);
    if (fts == NULL)
        return err_errno(err, errno, "%s: cannot list", root);
    while (code == SHEAF_OK && (errno = 0, f = fts_read(fts)) != NULL)
        if (f->fts_level != 0 || f->fts_errno != 0)
            code = objects_take_file(f, o, watch, err);
    if (code == SHEAF_OK && errno != 0)
        code = err_errno(err, errno, "%s: cannot list", root);
    fts_close(fts);
    return code;
}

/* ---- What it is ------------------------------------------------------------------------------ */

static int objects_list_one(const char *url, struct objects *o, struct sheaf_error *err)
{
    const char *slash = strrchr(url, '/');
    const struct object found = { .name = slash == NULL ? url : slash + 1, .url = url,
                                  .bytes = OBJECT_UNKNOWN };

    return objects_add(o, &found, NULL, err);
}

int objects_list_files(const char *path, struct watch *watch, struct objects *o,
                       struct sheaf_error *err)
{
    struct stat st;
    int code;

    *o = (struct objects){ 0 };
    if (stat(path, &st) != 0)
        return err_errno(err, errno, "%s: cannot read", path);
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is neither a directory nor a file", path);
    code = S_ISDIR(st.st_mode) ? list_tree(path, o, watch, err) : objects_list_one(path, o, err);
    if (code == SHEAF_OK && o->count == 0)
        code = err_set(err, SHEAF_ERR_NOT_FOUND, "%s: no files found", path);
    o->unit_count = o->count;
    return code;
}

/* Lists the objects of a source, which may be a prefix, a directory, a manifest, or a single
 * object. */
static int list_source(const struct source *s, const char *attributes, struct watch *watch,
                       struct objects *o, struct sheaf_error *err)
{
    if (s->ops->objects == SOURCE_OBJECTS_BELOW)
        return s->is_remote ? list_prefix(s, o, watch, err) : list_tree(s->root, o, watch, err);
    if (s->ops->objects == SOURCE_OBJECTS_LISTED)
        return objects_list_manifest(s->url, o, err);
    return o->is_augmented ? objects_list_augmented(s->url, attributes, o, err)
                           : objects_list_one(s->url, o, err);
}

int objects_list(const char *url, const char *attributes, struct watch *watch,
                 struct objects *o, struct sheaf_error *err)
{
    struct source s;
    int code;

    *o = (struct objects){ 0 };
    if (strcmp(url, "-") == 0)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "standard input is not supported as a source "
                                                   "of objects");
    code = source_open(url, NULL, &s, err);
    if (code != SHEAF_OK)
        return code;
    /* a data set's manifest is an ordinary object here */
    o->is_augmented = s.ops->objects == SOURCE_OBJECTS_OF_LINES &&
                      strcmp(safe_path_base(url), MANIFEST_NAME) != 0;
    if (attributes != NULL && !o->is_augmented)
        code = err_set(err, SHEAF_ERR_ARGUMENT, "%s: attributes require an augmented manifest",
                       url);
    else
        code = list_source(&s, attributes, watch, o, err);
    if (code == SHEAF_OK && o->count == 0)
        code = o->unfinished != 0 ? manifest_refuse_unfinished(url, err)
                                  : err_set(err, SHEAF_ERR_NOT_FOUND, "%s: no objects found", url);
    o->is_listing = s.ops->is_tree;
    if (code == SHEAF_OK && o->is_listing)
        qsort(o->items, o->count, sizeof(o->items[0]), objects_by_name);
    if (o->units == NULL)
        o->unit_count = o->count;
    source_close(&s);
    return code;
}
