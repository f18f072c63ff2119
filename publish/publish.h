/* SPDX-License-Identifier: MIT
 *
 * Publishing: finished shards become a data set. */
#ifndef PUBLISH_PUBLISH_H
#define PUBLISH_PUBLISH_H

#include "publish/output.h"
#include "publish/publish_keys.h"

/* The content of the manifests besides the shards. */
struct publish_facts {
    const char *const *classes;
    size_t class_count;
    int label_base;
    struct publish_split {
        uint64_t shard_count;
        bool cls_is_label;      /* whether no sample has a field `cls` */
        const char *options_json;
    } splits[SPLIT_LIMIT];
    uint32_t split_count;
    struct buf skipped, converted;      /* lines of skipped.tsv and converted.tsv */
    /* number of files that were left out, except files whose samples the data set already had */
    uint64_t skipped_count;
};

/* Publishes a new data set, or samples that were appended to the data set output->grows. Writes the
 * reports skipped.tsv and converted.tsv. Then, for each split, writes the index, the table of keys,
 * index files for other programs, and the manifest. The content of these files comes from the
 * journal entries (the stored facts) of the shards. Returns SHEAF_ERR_CHANGED if the destination
 * belongs to another run, or if another run has changed or replaced the data set output->grows. */
int publish_dataset(struct output *output, const struct publish_facts *facts,
                    struct sheaf_error *err);

/* Called before a layer of a column is published in the directory BASE/columns/NAME/NUMBER. `base`
 * is the fingerprint that the data set in BASE had when the layer was begun. Returns
 * SHEAF_ERR_CHANGED if the data set was edited since then, so that no reader could use the layer.
 * (publish_base.c) */
int publish_check_base(const char *layer, const char *base, struct sheaf_error *err);

/* ---- What is appended (publish_grow.c) ------------------------------------------------------- */

struct manifest_found;
/* Makes a copy of the existing manifest `there`, with room for the appended shards and classes.
 * Returns SHEAF_ERR_CHANGED if another run has changed or replaced the data set since this run
 * opened it. */
int publish_grown_start(const struct output *output, const struct manifest_found *there,
                        const struct publish_facts *facts, struct manifest *manifest,
                        struct sheaf_error *err);
/* Writes the index files for other programs. If the data set is one split of a larger data set,
 * these files contain the name of the split, which the manifest states. Otherwise they contain no
 * such name. */
int publish_grown_put_interop(const struct output *output, const struct manifest *manifest,
                              struct sheaf_error *err);
/* Reads the manifest of the data set, and calls publish_grown_put_interop(). Must be called after
 * the manifest was written. */
int publish_grown_interop(const struct output *output, struct sheaf_error *err);

/* Reads the manifest of the data set output->grows into *there, so that the caller can later
 * replace exactly this manifest. Returns SHEAF_ERR_CHANGED if another run has changed or replaced
 * the data set since this run opened it. */
int publish_grown_find(const struct output *output, struct manifest_found *there,
                       struct sheaf_error *err);
/* Replaces that manifest by the new text. */
int publish_grown_put(struct output *output, const struct manifest_found *there,
                      const struct buf *text, struct sheaf_error *err);

/* ---- What is edited (publish_edit.c) --------------------------------------------------------- */

/* An edit of the data set output->grows. */
struct publish_edit {
    const char *plan;           /* its hash */
    /* numbers of the shards that were written again, in ascending order. Each of these shards has a
     * new name and, under this name, a journal entry (the facts about a finished shard). */
    const size_t *shards;
    size_t shard_count;
    const uint64_t *payloads;   /* payload of each of them afterwards */
    const uint64_t *deleted;    /* numbers of samples, ascending */
    size_t deleted_count;
    uint64_t relabelled, replaced;
    const char *const *classes;
    size_t class_count;
    struct tally *fields;       /* of all samples afterwards; taken over */
};

/* Publishes an edited data set: writes its index files, tables of keys, manifest, and index files
 * for other programs. Returns SHEAF_ERR_CHANGED if another run has changed or replaced the data set
 * since this run opened it. */
int publish_edited(struct output *output, const struct publish_edit *edit,
                   struct sheaf_error *err);

/* ---- The index of shards that are there (publish_made.c) ------------------------------------- */

/* Publishes an index for shards that already exist. Writes the index, the table of keys, index
 * files for other programs, and finally the manifest. The new manifest replaces the manifest
 * `seen`, which existed when the run claimed the destination. Returns SHEAF_ERR_EXISTS if another
 * program has written a file under the name of the index or of the table of keys. */
int publish_made(struct output *output, const struct buf *index, struct publish_keys *keys,
                 struct manifest *manifest, const struct store_seen *seen,
                 struct sheaf_error *err);

/* ---- The manifest and the index files for other programs (publish_manifest.c) ---------------- */

/* The destination of a data set's files. */
struct publish_to {
    const struct output *output;
    const char *directory;
};
/* Writes a file with the given content to a destination. `to` must point to a struct publish_to.
 * The function has the type interop_put_fn. */
int publish_file(void *to, const char *name, const void *data, size_t size,
                 struct sheaf_error *err);

/* Writes the manifest, if the directory still has the manifest *seen. `note` is a text that the
 * store keeps with the new manifest, or "". Before the call, the caller must have checked its claim
 * (the file that says which run packs here). */
int publish_manifest(struct output *output, const char *directory, const struct buf *text,
                     const char *note, const struct store_seen *seen, struct sheaf_error *err);
/* Adds new classes to the manifest. `classes` has the names of all `count` classes. The N classes
 * of the manifest come first, so the function adds classes[N] to classes[count - 1]. The manifest's
 * array of classes must have room for `count` classes. */
int publish_classes(struct manifest *m, const char *const *classes, size_t count,
                    struct sheaf_error *err);
/* Writes the index files for other programs, which cover the whole data set. `name` is the name of
 * the split that these files contain, or NULL if the data set has no splits. */
int publish_interop(const struct output *output, uint32_t split, const char *name,
                    const struct manifest *m, struct sheaf_error *err);

#endif
