/* SPDX-License-Identifier: MIT
 *
 * Reads the records of one layer of a column in order. (A layer is one of the data sets that store
 * the column; see column_sets.h.) Compares the key of each record with the key of the sample to
 * which the record must belong. Does not read the shards of the base data set. */
#ifndef READER_COLUMN_PAIRS_H
#define READER_COLUMN_PAIRS_H

#include "formats/index.h"
#include "reader/dataset/column_sets.h"
#include "reader/dataset/sections.h"

/* Set the first three fields, and zero the others. */
struct column_pairs {
    const struct sheaf_dataset *base;
    uint64_t first;             /* number of the source's first sample in the base */
    const struct column_layer *layer;
    struct sections sections;
    struct index_section *section;      /* of the base's shard `shard` */
    uint32_t shard;
};

/* Called for each record of the column. `number` is the number of the record's sample in the base
 * data set. `problem` is NULL if the record belongs to this sample; otherwise `problem` says that
 * it belongs to another one. */
typedef int column_pair_fn(void *context, const struct sheaf_sample *record, uint64_t number,
                           const struct sheaf_error *problem, struct sheaf_error *err);

/* Reads all records of the column's layer in order. `options` specifies the memory, the threads and
 * the action on damaged records. Its options for the order of samples are ignored. */
int column_pairs_read(struct column_pairs *pairs, const struct sheaf_reader_options *options,
                      const volatile int *interrupt, column_pair_fn *each, void *context,
                      struct sheaf_error *err);
void column_pairs_close(struct column_pairs *pairs);

#endif
