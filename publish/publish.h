/* SPDX-License-Identifier: MIT
 *
 * Publishing: finished shards become a data set. */
#ifndef PUBLISH_PUBLISH_H
#define PUBLISH_PUBLISH_H

#include "publish/output.h"
#include "publish/publish_keys.h"

/* What the manifests contain in addition to shards. */
struct publish_facts {
    const char *const *classes;
    size_t class_count;
    int label_base;
    struct publish_split {
        uint64_t shard_count;
        bool cls_is_label;      /* no sample has a field `cls` of its own */
        const char *options_json;
    } splits[SPLIT_LIMIT];
    uint32_t split_count;
    struct buf skipped, converted;      /* lines of skipped.tsv and converted.tsv */
    uint64_t skipped_count;     /* files left out, except those whose samples the data set has */
};

/* Writes skipped.tsv, and for each split index, table of keys, other readers' index files and
 * manifest, from the journal's entries of its shards.  SHEAF_ERR_CHANGED: the destination is
 * another run's. */
int publish_dataset(struct output *output, const struct publish_facts *facts,
                    struct sheaf_error *err);

/* ---- What is appended (publish_grow.c) ------------------------------------------------------- */

/* SHEAF_ERR_CHANGED: the data set is not the one any more that was to grow. */
int publish_grown(struct output *output, const struct publish_facts *facts,
                  struct sheaf_error *err);
/* Index files of the whole data set, for other readers, once the manifest is there. */
int publish_grown_interop(const struct output *output, struct sheaf_error *err);

/* ---- The index of shards that are there (publish_made.c) ------------------------------------- */

/* Writes the index, the table of keys, other readers' files of the whole data set, and the manifest
 * over what was seen when the run claimed the destination. */
int publish_made(struct output *output, const struct buf *index, struct publish_keys *keys,
                 struct manifest *manifest, const struct store_seen *seen,
                 struct sheaf_error *err);

/* ---- The pieces, also of what is appended (publish_grow.c) ----------------------------------- */

/* Where files of a data set go. */
struct publish_to {
    const struct output *output;
    const char *directory;
};
/* As interop_put_fn; the context is a struct publish_to. */
int publish_file(void *to, const char *name, const void *data, size_t size,
                 struct sheaf_error *err);

/* What the index of a split is made of, and what is gathered while it is written. */
struct publish_index {
    const struct output *output;
    uint32_t split;
    uint64_t shard_count;
    struct manifest *manifest;  /* with room for the shards, which are added */
    struct publish_keys *keys;
    char **options_json;        /* which get the names of the libraries that compressed them, and
                                   what became of images, and what was left out */
    uint64_t skipped;           /* files left out */
};

/* Writes the sections, as the journal has them; `index` is the context of output_write_over. */
int publish_index(void *index, struct store_writer *writer, struct sheaf_error *err);
/* Adds the classes that the manifest has not yet, for which there is room. */
int publish_classes(struct manifest *m, const char *const *classes, size_t count,
                    struct sheaf_error *err);
/* Other readers' files of the whole data set, which is a split of this name, or NULL. */
int publish_interop(const struct output *output, uint32_t split, const char *name,
                    const struct manifest *m, struct sheaf_error *err);
/* Writes the lines of a report to the file `name`, or removes it if there are none. */
int publish_report(const struct output *output, const struct buf *lines, const char *name,
                   struct sheaf_error *err);

#endif
