/* SPDX-License-Identifier: MIT
 *
 * The objects of a source, as whole objects without keys or samples. SageMaker gives a training job
 * the objects that have a common prefix, or the objects that a manifest or an augmented manifest
 * lists. sheaf_fetch, sheaf_feed and sheaf_survey work on such objects.
 *
 * A UNIT is shuffled, and given to a host, as a whole. It is one object, or everything that one
 * line of an augmented manifest names. */
#ifndef MODES_OBJECTS_H
#define MODES_OBJECTS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/watch.h"
#include "sheaf.h"

#define OBJECT_UNKNOWN UINT64_MAX

struct object {
    /* name relative to the source; for an augmented manifest, the key of the object */
    const char *name;
    /* URL of the object; NULL if the URL is the root URL of the source followed by the name */
    const char *url;
    const char *text;           /* the content itself, `bytes` bytes, or NULL */
    const uint8_t *md5;         /* the MD5 that its ETag states, or NULL */
    uint64_t bytes;             /* OBJECT_UNKNOWN until objects_ask() */
    uint64_t stamp;             /* these two as store_entry's */
    int64_t modified_s;
};

/* DIRECTORY/.sheaf-partial/plan, below the root. */
struct object_claim {
    const char *name;
    struct object_claim *next;
};

/* Zero-initialised. */
struct objects {
    /* the objects; sorted by name for a prefix or tree, otherwise in the given order */
    struct object *items;
    size_t count, capacity;
    /* unit i consists of the objects items[units[i]] up to, but not including, items[units[i + 1]];
     * NULL if each unit is one object */
    size_t *units;
    size_t unit_count;
    char *root;
    bool is_augmented;
    /* whether the source is a prefix or tree, so that its objects are sorted */
    bool is_listing;
    bool is_part;               /* whether it lists only names that begin alike */
    /* number of objects that are left out because they belong to an unfinished run of the packer */
    size_t unfinished;
    /* claims of packing runs that were found among the objects; a claim states what its run does */
    struct object_claim *claims;
    struct arena arena;
};

/* Lists the objects of a source: a prefix (which may end within a name), a directory, a manifest,
 * an augmented manifest, or a single object. For an augmented manifest, `attributes`
 * ("source-ref,label") selects which attributes are taken from each line and in which order. If
 * `attributes` is NULL, only the attributes that name objects (NAME-ref) are taken from each line.
 * The caller must call objects_free in any case. */
int objects_list(const char *source, const char *attributes, struct watch *watch,
                 struct objects *objects, struct sheaf_error *err);
/* Lists the files of a local directory, or one local file. Unlike objects_list, does not treat a
 * file as a manifest. */
int objects_list_files(const char *path, struct watch *watch, struct objects *objects,
                       struct sheaf_error *err);
/* Reduces the listing of a data set's directory to its shards, in the manifest's order. Counts the
 * other objects in *left_out. Returns an error if a shard is missing. (objects_dataset.c) */
int objects_keep_shards(struct objects *objects, uint64_t *left_out, struct sheaf_error *err);
/* Refuses a source that contains traces of an unfinished run of the packer, because a copy of it
 * would look complete. */
int objects_refuse_unfinished(const struct objects *objects, const char *source,
                              struct sheaf_error *err);
void objects_free(struct objects *objects);

static inline size_t objects_unit(const struct objects *o, size_t unit)
{
    return o->units == NULL ? unit : o->units[unit];
}

/* Requests the sizes of objects in these units if they are unknown, with many requests at the same
 * time. Returns an error for the first object that is missing or may not be read. */
int objects_ask(struct objects *objects, const uint32_t *units, size_t count,
                struct watch *watch, struct sheaf_error *err);

/* Returns the object's URL as allocated memory, or NULL if memory is exhausted. */
char *object_url(const struct objects *objects, const struct object *object);

/* ---- Between the kinds of source ------------------------------------------------------------ */

/* Appends an object. Copies its name, its URL (which may be NULL) and its other fields from
 * `found`. */
int objects_add(struct objects *objects, const struct object *found, const char *etag,
                struct sheaf_error *err);
/* Records the result of a request for an object. */
struct store_stat;
int object_answer(struct objects *objects, struct object *object, const struct store_stat *stat,
                  struct sheaf_error *err);
int objects_end_unit(struct objects *objects, struct sheaf_error *err);
/* Lists the files of a data set by its manifest, if the program may not list its directory. Returns
 * SHEAF_ERR_NOT_FOUND or SHEAF_ERR_ACCESS if no manifest can be read. (objects_dataset.c) */
int objects_list_dataset(const char *directory, struct objects *objects, struct sheaf_error *err);
int objects_list_manifest(const char *url, struct objects *objects, struct sheaf_error *err);
int objects_list_augmented(const char *url, const char *attributes, struct objects *objects,
                           struct sheaf_error *err);

#endif
