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
    /* number of files left out, not counting files whose samples the data set already has */
    uint64_t skipped_count;
};

/* Writes skipped.tsv. Then writes for each split the index, the table of keys, the index files for
 * programs other than Sheaf, and the manifest, from the journal entries of the split's shards.
 * Returns SHEAF_ERR_CHANGED if the destination belongs to another run. */
int publish_dataset(struct output *output, const struct publish_facts *facts,
                    struct sheaf_error *err);

/* ---- What is appended (publish_grow.c) ------------------------------------------------------- */

/* Publishes appended samples. Returns SHEAF_ERR_CHANGED if another run has changed or replaced the
 * data set since this run opened it. */
int publish_grown(struct output *output, const struct publish_facts *facts,
                  struct sheaf_error *err);
/* Writes the index files for programs other than Sheaf, for the whole data set. Called after the
 * manifest was written. */
int publish_grown_interop(const struct output *output, struct sheaf_error *err);

/* Finds the manifest of the data set output->grows, before the data set is changed. Returns
 * SHEAF_ERR_CHANGED if another run has changed or replaced the data set since this run opened
 * it. */
struct manifest_found;
int publish_grown_find(const struct output *output, struct manifest_found *there,
                       struct sheaf_error *err);
/* Replaces that manifest by the new text. */
int publish_grown_put(struct output *output, const struct manifest_found *there,
                      const struct buf *text, struct sheaf_error *err);

/* ---- What is edited (publish_edit.c) --------------------------------------------------------- */

/* An edit of the data set output->grows. */
struct publish_edit {
    const char *plan;           /* its hash */
    /* Numbers of the shards that were written again, in ascending order. For each of them, the
     * journal has an entry under the shard's new name. */
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

/* Writes the index files and tables of keys of an edited data set, its manifest, and the index
 * files for programs other than Sheaf. Returns SHEAF_ERR_CHANGED if another run has changed or
 * replaced the data set since this run opened it. */
int publish_edited(struct output *output, const struct publish_edit *edit,
                   struct sheaf_error *err);

/* ---- The index of shards that are there (publish_made.c) ------------------------------------- */

/* Writes the index, the table of keys, and the index files for programs other than Sheaf, for
 * shards that exist already. Then writes the manifest. It replaces the manifest that existed when
 * the run claimed the destination. */
int publish_made(struct output *output, const struct buf *index, struct publish_keys *keys,
                 struct manifest *manifest, const struct store_seen *seen,
                 struct sheaf_error *err);

/* ---- The pieces, also of what is appended (publish_grow.c) ----------------------------------- */

/* The destination of a data set's files. */
struct publish_to {
    const struct output *output;
    const char *directory;
};
/* A function of the type interop_put_fn, which writes a file. `to` must be a struct publish_to. */
int publish_file(void *to, const char *name, const void *data, size_t size,
                 struct sheaf_error *err);

/* Writes a manifest, if the existing manifest is still the one that the caller saw (*seen). `note`
 * is the text that the store keeps with the new manifest, or "". The caller must have checked that
 * the run still has the claim. */
int publish_manifest(struct output *output, const char *directory, const struct buf *text,
                     const char *note, const struct store_seen *seen, struct sheaf_error *err);
/* Adds the classes that the manifest does not have yet. The manifest's array of classes must have
 * room for them. */
int publish_classes(struct manifest *m, const char *const *classes, size_t count,
                    struct sheaf_error *err);
/* Writes the index files for programs other than Sheaf, for the whole data set. `name` is the name
 * of the split, or NULL. */
int publish_interop(const struct output *output, uint32_t split, const char *name,
                    const struct manifest *m, struct sheaf_error *err);

#endif
