/* SPDX-License-Identifier: MIT
 *
 * Makes the index of a split from the journal entries (the stored facts) of the split's finished
 * shards. */
#ifndef PUBLISH_PUBLISH_INDEX_H
#define PUBLISH_PUBLISH_INDEX_H

#include "publish/output.h"
#include "publish/publish_keys.h"

/* State for writing the index of a split. It also collects the facts for the manifest that become
 * known while the index is written. */
struct publish_index {
    const struct output *output;
    uint32_t split;
    uint64_t shard_count;
    struct manifest *manifest;  /* with room for the shards, which are added */
    struct publish_keys *keys;
    /* JSON text of the options that the manifest will contain. publish_index adds to this text the
     * versions of libraries, the numbers of changed images and the number of skipped files. */
    char **options_json;
    uint64_t skipped;           /* files left out */
};

/* Writes the index to `writer`, from the sections of the index in the journal entries. `index` must
 * be a struct publish_index. The function has the type output_content_fn. */
int publish_index(void *index, struct store_writer *writer, struct sheaf_error *err);
/* Adds the samples of a shard to the number of samples of each class in the manifest. The labels
 * come from the shard's section of the index. If the section has no labels, the function removes
 * the numbers of all classes from the manifest, because they would be incomplete. */
int publish_count_classes(struct manifest *m, const uint8_t *section, size_t size,
                          uint64_t samples, struct sheaf_error *err);

#endif
