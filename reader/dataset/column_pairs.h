/* SPDX-License-Identifier: MIT
 *
 * Reads the records of one layer of a column in order. (A column is stored in layers, which are
 * data sets; see column_sets.h.) Checks that the key of each record is the key of its sample in the
 * base, the data set to which the column belongs. The key is compared with the base's index, so the
 * shards of the base are not read. */
#ifndef READER_COLUMN_PAIRS_H
#define READER_COLUMN_PAIRS_H

#include "formats/index.h"
#include "reader/dataset/column_sets.h"
#include "reader/dataset/sections.h"

/* The state of reading the records of a layer (a data set in which a column is stored). Before
 * reading, the caller must set the first three fields, and set all other fields to zero. */
struct column_pairs {
    const struct sheaf_dataset *base;
    uint64_t first;             /* number of the source's first sample in the base */
    const struct column_layer *layer;
    struct sections sections;
    struct index_section *section;      /* index section of the base's shard number `shard` */
    uint32_t shard;
};

/* A function that is called for each record of the column. `number` is the number of the record's
 * sample in the base data set. `problem` is NULL if the record belongs to this sample. Otherwise
 * `problem` is an error that describes the mismatch. */
typedef int column_pair_fn(void *context, const struct sheaf_sample *record, uint64_t number,
                           const struct sheaf_error *problem, struct sheaf_error *err);

/* Reads all records of a layer (a data set of the column) in order, and calls `each` for each of
 * them. `options` says how much memory and how many threads to use, and what to do with damaged
 * records. Options for the order of samples are ignored. */
int column_pairs_read(struct column_pairs *pairs, const struct sheaf_reader_options *options,
                      const volatile int *interrupt, column_pair_fn *each, void *context,
                      struct sheaf_error *err);
void column_pairs_close(struct column_pairs *pairs);

#endif
