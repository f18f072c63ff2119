/* SPDX-License-Identifier: MIT
 *
 * Looks up keys in the table of keys of a data set, the file dataset.keys (see
 * formats/key_table.h). Also checks this file. */
#ifndef READER_LOOKUP_KEY_FILE_H
#define READER_LOOKUP_KEY_FILE_H

#include "base/buf.h"
#include "reader/dataset/dataset.h"

/* A candidate: a sample that may have one of the requested keys. The table of keys stores only a
 * part of each key's hash. Two different keys can have the same part, so the sample may have
 * another key. */
struct key_match {
    size_t asked;               /* index of the requested key in `hashes` */
    uint64_t number;            /* number of the sample in the source */
};

/* Appends to `matches`, in any order, the samples that may have one of the requested keys (the
 * candidates). `hashes` has the hashes of the requested keys. The table of keys stores only a part
 * of each hash, so a candidate may have another key. `source` must not be a union of several data
 * sets. Returns SHEAF_ERR_UNSUPPORTED if `source` has no table of keys. */
int key_file_find(const struct sheaf_dataset *source, const uint64_t *hashes, size_t count,
                  const volatile int *interrupt, struct buf *matches, struct sheaf_error *err);

/* Reads and checks the table of keys for one part of the source. (Each run that appended samples
 * has added a part.)
 *
 * `sum` is the sum of key_table_part (a hash of key and number) over all samples of this part. It
 * must be equal to the sum over all entries of the table. If `sum` is NULL, the sums are not
 * compared.
 *
 * Returns SHEAF_ERR_NOT_FOUND if the part was packed with a table (dataset_part.is_keyed) that does
 * not exist any more. Returns SHEAF_END if the part was packed without a table. */
int key_file_check(const struct sheaf_dataset *source, size_t part, const uint64_t *sum,
                   struct sheaf_error *err);

#endif
