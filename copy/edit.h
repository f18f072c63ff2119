/* SPDX-License-Identifier: MIT
 *
 * An edit of a data set: the changes that the caller requests, the samples that change, and the
 * shards that contain these samples.
 *
 *     lists --edit_wanted.c--> keys --edit_change.c--> numbers, shards --edit_write.c--> new shards
 *
 * The caller's lists name samples by their keys. The numbers of the samples are found by the table
 * of keys, and by reading these samples. edit.c calls the steps one after another, and publishes
 * the result. */
#ifndef COPY_EDIT_H
#define COPY_EDIT_H

#include "base/hash_text.h"
#include "base/watch.h"
#include "packer/engine.h"
#include "packer/plan/plan.h"
#include "packer/source/catalog.h"
#include "packer/source/source.h"
#include "publish/output.h"
#include "publish/publish.h"
#include "reader/dataset/dataset.h"
#include "sheaf.h"

/* A key in one of the caller's lists, and the change that the caller requests for the samples with
 * this key. */
struct edit_wanted {
    char *key;
    /* `key` may be a key, or a path that contains a key: the key that it contains if it is a path;
     * otherwise NULL */
    char *other;
    bool is_deleted, has_label;
    /* if has_label is set: index of the new label in edit.labels; after edit_number_labels(), in
     * edit.plan.labels */
    uint32_t label;
    size_t file, file_count;    /* of edit.files: what replaces fields */
    const char *where;          /* the list, for messages */
};

/* A sample that changes. */
struct edit_change {
    uint64_t number;            /* before the edit */
    size_t wanted;              /* its key, */
    bool is_deleted, has_label; /* and what becomes of it, also by other lists */
    uint32_t label;
    size_t file, file_count;
};

/* A shard that is written again. */
struct edit_shard {
    size_t shard;               /* in the manifest */
    size_t change, end;         /* range of edit.changes */
    char *name;                 /* the new one */
    uint64_t source;            /* hash of what changes: the journal's */
};

struct edit {
    struct sheaf_edit_options options;
    struct watch watch;
    struct problems problems;
    char *directory;            /* of the data set */
    struct sheaf_dataset *dataset;
    const struct manifest *manifest;    /* of the data set */
    bool last_dot;              /* keys end at the last dot of a path */

    struct catalog labels, files;
    struct source source;       /* of `files` */
    bool has_source;
    struct edit_wanted *wanted;
    size_t wanted_count;
    XXH128_hash_t sum;          /* of all that is asked for */
    struct plan plan;           /* labels and classes only */

    struct edit_change *changes;
    size_t change_count;
    struct edit_shard *shards;
    size_t shard_count;
    uint64_t *deleted;
    size_t deleted_count;
    uint64_t relabelled, replaced;
    uint64_t *payloads;         /* of each shard, afterwards */
    struct tally fields;        /* of all samples afterwards */

    struct block_setup setup;
    struct output output;
    struct engine engine;
    bool engine_open;
    struct sheaf_edit_result result;
};

/* Reads the caller's lists. Returns SHEAF_ERR_ARGUMENT if two lists request contradictory changes.
 * (edit_wanted.c) */
int edit_read_lists(struct edit *edit, struct sheaf_error *err);
/* Sets `text` to the hash of this edit for a data set with the given fingerprint. */
void edit_hash(const struct edit *edit, const char *fingerprint, char text[HASH_TEXT_BYTES]);
void edit_lists_free(struct edit *edit);

/* Finds the samples that change and the shards that contain them. Computes the counts that the data
 * set will have after the edit. Returns SHEAF_ERR_NOT_FOUND if a key or a file in a list belongs to
 * no sample. (edit_change.c) */
int edit_find_changes(struct edit *edit, struct sheaf_error *err);
void edit_changes_free(struct edit *edit);

/* Returns the labels that a sample gets by this change, or NULL if the sample keeps its labels. */
const struct plan_label *edit_label_of(const struct edit *edit, const struct edit_change *change);
/* Returns the file that replaces a field, or NULL. */
const struct catalog_file *edit_file_of(const struct edit *edit, const struct edit_change *change,
                                        const char *field);

/* Writes new shards in place of those that contain changed samples. The old shards stay beside
 * them. (edit_write.c) */
int edit_write(struct edit *edit, struct sheaf_error *err);

#endif
