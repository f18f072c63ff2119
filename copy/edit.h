/* SPDX-License-Identifier: MIT
 *
 * An edit of a data set deletes samples, changes their labels or replaces their files.
 *
 * edit_wanted.c reads the caller's lists, which name samples by their keys. edit_change.c finds
 * these samples and their shards. For each key, the file dataset.keys gives the numbers of
 * candidates (samples whose keys have the same hash). edit_change.c reads each candidate to see
 * whether it has the key. edit_write.c writes new shards in place of the shards with changed
 * samples. edit.c calls these steps one after another, and publishes the result. */
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

/* An entry of one of the caller's lists: a key, and the change that the caller requests for the
 * samples with this key. */
struct edit_wanted {
    /* text from the caller's list: the key of a sample, or the path of a file */
    char *key;
    /* if `key` is a path such as "cat/1.jpg": the key in the path, "cat/1"; otherwise NULL */
    char *other;
    bool is_deleted, has_label;
    /* index of the new label, if has_label is set: at first in the catalog edit.labels, and after
     * edit_number_labels() in the array edit.plan.labels */
    uint32_t label;
    size_t file, file_count;    /* range of edit.files: the files that replace fields */
    const char *where;          /* the list, for messages, */
    uint64_t line;              /* and the line; 0 if `where` has files instead of lines */
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

    char unknown[512];          /* describes the first key or file that belongs to no sample */

    struct block_setup setup;
    struct output output;
    struct engine engine;
    bool engine_open;
    struct sheaf_edit_result result;
};

/* Reads the caller's lists of changes. Returns SHEAF_ERR_ARGUMENT if two lists request
 * contradictory changes for the same key. (edit_wanted.c) */
int edit_read_lists(struct edit *edit, struct sheaf_error *err);
/* Sets `text` to a hash of the requested changes and of the data set's fingerprint. The hash
 * identifies this edit. */
void edit_hash(const struct edit *edit, const char *fingerprint, char text[HASH_TEXT_BYTES]);
void edit_lists_free(struct edit *edit);

/* Finds the samples that the edit changes, and the shards that contain them. Computes the numbers
 * of samples and bytes that the data set will have after the edit. Returns SHEAF_ERR_NOT_FOUND if a
 * key or a file in a list belongs to no sample. (edit_change.c) */
int edit_find_changes(struct edit *edit, struct sheaf_error *err);
void edit_changes_free(struct edit *edit);

/* Returns the new labels that the change gives to its sample, or NULL if the sample keeps its
 * labels. */
const struct plan_label *edit_label_of(const struct edit *edit, const struct edit_change *change);
/* Returns the file that replaces a field, or NULL. */
const struct catalog_file *edit_file_of(const struct edit *edit, const struct edit_change *change,
                                        const char *field);

/* Writes a new shard in place of each shard that contains changed samples. The new manifest will
 * name the new shards. The old shards stay in the directory until the caller requests a purge.
 * (edit_write.c) */
int edit_write(struct edit *edit, struct sheaf_error *err);

#endif
