/* SPDX-License-Identifier: MIT
 *
 * Makes the index of a split from the journal's entries. */
#ifndef PUBLISH_PUBLISH_INDEX_H
#define PUBLISH_PUBLISH_INDEX_H

#include "publish/output.h"
#include "publish/publish_keys.h"

/* The content of a split's index, and facts for the manifest. Both are collected while the index is
 * written. */
struct publish_index {
    const struct output *output;
    uint32_t split;
    uint64_t shard_count;
    struct manifest *manifest;  /* with room for the shards, which are added */
    struct publish_keys *keys;
    /* the options in the manifest, to which the names of libraries and the counts of images and
     * of skipped files are added */
    char **options_json;
    uint64_t skipped;           /* files left out */
};

/* Writes the sections from the journal, as output_content_fn. */
int publish_index(void *index, struct store_writer *writer, struct sheaf_error *err);
/* Counts the samples of each class by the labels in a shard's section of the index. If the section
 * has no labels, the counts of the manifest become unknown. */
int publish_count_classes(struct manifest *m, const uint8_t *section, size_t size,
                          uint64_t samples, struct sheaf_error *err);

#endif
