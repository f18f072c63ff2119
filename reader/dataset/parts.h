/* SPDX-License-Identifier: MIT
 *
 * The parts of a data set: the data set as it was packed first, and one part for each run that
 * appended samples. Each part has an index and a table of keys of its own. Shards, samples and
 * index sections are numbered through all parts. For example, shards 0, 1 and 2 were packed first
 * and form part 0, which has the index dataset.index. Shards 3 and 4, which were appended later,
 * form part 1 with dataset-1.index. */
#ifndef READER_PARTS_H
#define READER_PARTS_H

#include "formats/manifest.h"

struct dataset_part {
    char *index_url, *keys_url;
    uint64_t index_offset, index_bytes;     /* where its sections begin among those of all parts */
    uint64_t first_number, samples;         /* numbers of its samples in the source */
    uint64_t keyed;                         /* as key_table_make takes it */
    char fingerprint[33];                   /* the fingerprint in its table of keys */
};

/* Makes the parts of a data set from its manifest. There is at least one part. `directory` is where
 * the data set's files are. */
int parts_make(const struct manifest *m, const char *directory, struct dataset_part **parts,
               size_t *count, struct sheaf_error *err);
void parts_free(struct dataset_part *parts, size_t count);

/* Returns the part of the data set whose index contains the section of this shard. */
static inline size_t part_of_shard(const struct dataset_part *parts, size_t count,
                                   const struct manifest_shard *shard)
{
    size_t i = count - 1;

    while (i > 0 && parts[i].index_offset > shard->index_offset)
        i--;
    return i;
}

#endif
