/* SPDX-License-Identifier: MIT
 *
 * The list of the objects of a source, for sheaf_fetch, sheaf_feed and sheaf_survey. These
 * functions handle whole objects and do not look for samples in them. As in SageMaker, a source is
 * a prefix, a manifest file that lists objects, or an augmented manifest.
 *
 * A unit is one object, or all objects that one line of an augmented manifest names. A unit is
 * shuffled as a whole, and is given to one host as a whole. */
#ifndef MODES_OBJECTS_H
#define MODES_OBJECTS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/watch.h"
#include "sheaf.h"

#define OBJECT_UNKNOWN UINT64_MAX

struct object {
    /* name of the object relative to the source; for an augmented manifest, the key of the object
     * in its bucket */
    const char *name;
    /* URL of the object; NULL if the URL is the root URL of the source followed by `name` */
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
    /* the objects of the source; sorted by name for a prefix or a directory, otherwise in the order
     * of the manifest */
    struct object *items;
    size_t count, capacity;
    /* unit i (the objects of one line of an augmented manifest) consists of items[units[i]] up to,
     * but not including, items[units[i + 1]]; NULL if each unit is one object */
    size_t *units;
    size_t unit_count;
    char *root;
    bool is_augmented;
    /* whether the source is a prefix or a directory, so that its objects are sorted by name */
    bool is_listing;
    bool is_part;               /* whether it lists only names that begin alike */
    /* number of objects that were left out because they belong to a packing run that is not
     * finished */
    size_t unfinished;
    /* list of the claims among the objects. A claim is a file in which a packing run says that it
     * is at work and what it does. */
    struct object_claim *claims;
    struct arena arena;
};

/* Lists the objects of a source: a prefix, a directory, a manifest, an augmented manifest, or a
 * single object. A prefix may end within a name.
 *
 * For an augmented manifest, `attributes` ("source-ref,label") selects which attributes are taken
 * from each line and in which order. If `attributes` is NULL, only the attributes that name objects
 * (NAME-ref) are taken. The caller must call objects_free in any case. */
int objects_list(const char *source, const char *attributes, struct watch *watch,
                 struct objects *objects, struct sheaf_error *err);
/* Lists the files of a local directory, or one local file. Unlike objects_list, does not treat a
 * file as a manifest. */
int objects_list_files(const char *path, struct watch *watch, struct objects *objects,
                       struct sheaf_error *err);
/* Removes all objects except the shards from the listing of a data set's directory, and sorts the
 * shards in the order of the manifest. Sets *left_out to the number of removed objects. Returns an
 * error if a shard is missing. (objects_dataset.c) */
int objects_keep_shards(struct objects *objects, uint64_t *left_out, struct sheaf_error *err);
/* Returns an error if the source contains files of an unfinished packing run. A copy of such a
 * source would look like a complete data set. */
int objects_refuse_unfinished(const struct objects *objects, const char *source,
                              struct sheaf_error *err);
void objects_free(struct objects *objects);

static inline size_t objects_unit(const struct objects *o, size_t unit)
{
    return o->units == NULL ? unit : o->units[unit];
}

/* Asks the store for the sizes of the objects in these units, if the sizes are unknown. Runs many
 * requests at the same time. Returns the error of the first object that is missing or may not be
 * read. */
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
/* Lists the files of a data set from its manifest, if the program does not have the permission to
 * list the directory. Returns SHEAF_ERR_NOT_FOUND or SHEAF_ERR_ACCESS if no manifest can be read.
 * (objects_dataset.c) */
int objects_list_dataset(const char *directory, struct objects *objects, struct sheaf_error *err);
int objects_list_manifest(const char *url, struct objects *objects, struct sheaf_error *err);
int objects_list_augmented(const char *url, const char *attributes, struct objects *objects,
                           struct sheaf_error *err);

#endif
