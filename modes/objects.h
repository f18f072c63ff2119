/* SPDX-License-Identifier: MIT
 *
 * The objects of a source, as whole objects without keys or samples. SageMaker gives a training job
 * the objects of a prefix, a manifest or an augmented manifest. fetch, feed and survey work on
 * them.
 *
 * A UNIT is shuffled and given to a host as a whole: one object, or everything that one line of an
 * augmented manifest names. */
#ifndef MODES_OBJECTS_H
#define MODES_OBJECTS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/watch.h"
#include "sheaf.h"

#define OBJECT_UNKNOWN UINT64_MAX

struct object {
    const char *name;           /* name relative to the source; for an augmented manifest, the
                                   object's key */
    const char *url;            /* NULL if the URL is the root followed by the name */
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
    struct object *items;       /* the objects, sorted by name for a prefix or tree, otherwise in
                                   the given order */
    size_t count, capacity;
    size_t *units;              /* unit i has items [units[i], units[i + 1]); NULL if unit i is
                                   item i */
    size_t unit_count;
    char *root;
    bool is_augmented;
    bool is_listing;            /* whether the source is a prefix or tree, which is sorted */
    bool is_part;               /* whether it lists only names that begin alike */
    size_t unfinished;          /* number of objects left out because they belong to an
                                   unfinished run of the packer */
    struct object_claim *claims;        /* the claims among the objects, which state what their
                                           run does */
    struct arena arena;
};

/* Lists the objects of a source. `source` is a prefix (which may end within a name), directory,
 * manifest, augmented manifest, or a single object. For an augmented manifest, `attributes`
 * ("source-ref,label") selects what is taken from each line and in which order; NULL selects all
 * objects and nothing else. The caller must call objects_free in any case. */
int objects_list(const char *source, const char *attributes, struct watch *watch,
                 struct objects *objects, struct sheaf_error *err);
/* Lists a local directory or file, whatever its name suggests. */
int objects_list_files(const char *path, struct watch *watch, struct objects *objects,
                       struct sheaf_error *err);
/* Reduces the listing of a data set's directory to the shards, in the manifest's order, and counts
 * the other objects. Returns an error if a shard is missing. (objects_dataset.c) */
int objects_keep_shards(struct objects *objects, uint64_t *left_out, struct sheaf_error *err);
/* Refuses a source with traces of an unfinished run of the packer. A copy of it would look
 * complete. */
int objects_refuse_unfinished(const struct objects *objects, const char *source,
                              struct sheaf_error *err);
void objects_free(struct objects *objects);

static inline size_t objects_unit(const struct objects *o, size_t unit)
{
    return o->units == NULL ? unit : o->units[unit];
}

/* Requests the unknown sizes of these units, many at a time. The first object that is missing or
 * may not be read is the error. */
int objects_ask(struct objects *objects, const uint32_t *units, size_t count,
                struct watch *watch, struct sheaf_error *err);

/* Returns the object's URL as allocated memory, or NULL if memory is exhausted. */
char *object_url(const struct objects *objects, const struct object *object);

/* ---- Between the kinds of source ------------------------------------------------------------ */

/* Appends an object. Copies name and URL, which may be NULL, and the rest of `found`. */
int objects_add(struct objects *objects, const struct object *found, const char *etag,
                struct sheaf_error *err);
/* Records the result of a request for an object. */
struct store_stat;
int object_answer(struct objects *objects, struct object *object, const struct store_stat *stat,
                  struct sheaf_error *err);
int objects_end_unit(struct objects *objects, struct sheaf_error *err);
/* Lists the files of the data set in a directory that may not be listed, by its manifest.  Returns
 * SHEAF_ERR_NOT_FOUND or _ACCESS if no manifest can be read.  (objects_dataset.c) */
int objects_list_dataset(const char *directory, struct objects *objects, struct sheaf_error *err);
int objects_list_manifest(const char *url, struct objects *objects, struct sheaf_error *err);
int objects_list_augmented(const char *url, const char *attributes, struct objects *objects,
                           struct sheaf_error *err);

#endif
