/* SPDX-License-Identifier: MIT
 *
 * The parts of a data set. One part has the shards that were packed first. Each run that appended
 * samples later has added one more part. Each part has an index and a table of keys of its own.
 * Shards, samples and index sections are numbered through all parts.
 *
 * For example, shards 0, 1 and 2 were packed first. They form part 0, whose index is dataset.index.
 * Shards 3 and 4 were appended. They form part 1, whose index is dataset-1.index. */
#ifndef READER_PARTS_H
#define READER_PARTS_H

#include "formats/manifest.h"

struct dataset_part {
    char *index_url, *keys_url;
    /* Offset and size in bytes of this part's index sections, if the index sections of all parts
     * are put one after another. */
    uint64_t index_offset, index_bytes;
    /* number of the part's first sample in the source, and number of its samples */
    uint64_t first_number, samples;
    uint64_t keyed;                         /* argument `keyed` of key_table_make */
    /* True if the part was packed with a table of keys. Release 0.1 wrote neither tables of keys
     * nor hashes of index sections (index_xxh3), and all later releases have written both. */
    bool is_keyed;
    char fingerprint[33];                   /* the fingerprint in its table of keys */
};

/* Makes an array of the parts of a data set from its manifest. Sets *count to their number, which
 * is at least 1. `directory` contains the files of the data set. */
int parts_make(const struct manifest *m, const char *directory, struct dataset_part **parts,
               size_t *count, struct sheaf_error *err);
void parts_free(struct dataset_part *parts, size_t count);

/* Returns the index of the part to which a shard belongs. The index file of this part contains the
 * index section of the shard. */
static inline size_t part_of_shard(const struct dataset_part *parts, size_t count,
                                   const struct manifest_shard *shard)
{
    size_t i = count - 1;

    while (i > 0 && parts[i].index_offset > shard->index_offset)
        i--;
    return i;
}

#endif
