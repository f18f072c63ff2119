/* SPDX-License-Identifier: MIT
 *
 * The objects of a source, as whole objects without keys or samples.  SageMaker gives a training
 * job the objects of a prefix, a manifest or an augmented manifest, so fetch, feed and survey work
 * on them.
 *
 * A UNIT is what is shuffled and given to hosts: an object, or all that a line of an augmented
 * manifest stands for. */
#ifndef MODES_OBJECTS_H
#define MODES_OBJECTS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/watch.h"
#include "sheaf.h"

#define OBJECT_UNKNOWN UINT64_MAX

struct object {
    const char *name;           /* relative to the source; of an augmented manifest the key */
    const char *url;            /* NULL: the root and the name, one after the other */
    const char *text;           /* or the content itself, of `bytes` bytes; else NULL */
    const uint8_t *md5;         /* the MD5 that its ETag states; NULL: the ETag states none */
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
    struct object *items;       /* of a prefix or tree in byte order of names, else as given */
    size_t count, capacity;
    size_t *units;              /* unit i: items [units[i], units[i + 1]); NULL: item i */
    size_t unit_count;
    char *root;
    bool is_augmented;
    bool is_listing;            /* of a prefix or tree: sorted */
    bool is_part;               /* a listing of names that begin alike, and of no others */
    size_t unfinished;          /* objects of a run that packs, or was killed; they are not here */
    struct object_claim *claims;        /* those of them that say what the run does */
    struct arena arena;
};

/* Finds them.  `source` is a prefix (also one that ends within a name), directory, manifest,
 * augmented manifest, or one object.  Of an augmented manifest's line, `attributes`
 * ("source-ref,label") says what is taken in which order; NULL: every object, and nothing else.
 * objects_free must be called in any case. */
int objects_list(const char *source, const char *attributes, struct watch *watch,
                 struct objects *objects, struct sheaf_error *err);
/* The same of a directory or file here, whatever its name says it is. */
int objects_list_files(const char *path, struct watch *watch, struct objects *objects,
                       struct sheaf_error *err);
/* Of a listing that is a data set's directory, keeps the shards, in their own order; counts the
 * others.  Every shard must be there.  (objects_dataset.c) */
int objects_keep_shards(struct objects *objects, uint64_t *left_out, struct sheaf_error *err);
/* Refuses a source with a trace of a run that packs, or was killed: it would be copied for a whole
 * one. */
int objects_refuse_unfinished(const struct objects *objects, const char *source,
                              struct sheaf_error *err);
void objects_free(struct objects *objects);

static inline size_t objects_unit(const struct objects *o, size_t unit)
{
    return o->units == NULL ? unit : o->units[unit];
}

/* Finds out what is not known of those units, many at a time; the first that is missing or may
 * not be read is the error. */
int objects_ask(struct objects *objects, const uint32_t *units, size_t count,
                struct watch *watch, struct sheaf_error *err);

/* Its URL, in memory of its own; NULL for want of it. */
char *object_url(const struct objects *objects, const struct object *object);

/* ---- Between the kinds of source ------------------------------------------------------------ */

/* Appends one; copies name and url (NULL is fine), and of `found` the rest. */
int objects_add(struct objects *objects, const struct object *found, const char *etag,
                struct sheaf_error *err);
/* What asking for it has found. */
struct store_stat;
int object_answer(struct objects *objects, struct object *object, const struct store_stat *stat,
                  struct sheaf_error *err);
int objects_end_unit(struct objects *objects, struct sheaf_error *err);
int objects_list_manifest(const char *url, struct objects *objects, struct sheaf_error *err);
int objects_list_augmented(const char *url, const char *attributes, struct objects *objects,
                           struct sheaf_error *err);

#endif
