/* SPDX-License-Identifier: MIT
 *
 * Looks up keys in the file dataset.keys of a data set (see formats/key_table.h), and checks this
 * file. */
#ifndef READER_LOOKUP_KEY_FILE_H
#define READER_LOOKUP_KEY_FILE_H

#include "base/buf.h"
#include "reader/dataset/dataset.h"

/* A sample that may have one of the requested keys. */
struct key_match {
    size_t asked;               /* which */
    uint64_t number;            /* number of the sample in the source */
};

/* Appends the candidates for keys with these hashes to `matches`, in no particular order. `source`
 * must not be a union of several data sets. Returns SHEAF_ERR_UNSUPPORTED if the source has no
 * table of keys. */
int key_file_find(const struct sheaf_dataset *source, const uint64_t *hashes, size_t count,
                  const volatile int *interrupt, struct buf *matches, struct sheaf_error *err);

/* Reads and checks the table of keys of one part of the source. `sum` is the sum of key_table_part
 * over the samples of this part; it must equal the sum over the table's entries. If `sum` is NULL,
 * only the table itself is checked. Returns SHEAF_END if the part has no table, which is
 * allowed. */
int key_file_check(const struct sheaf_dataset *source, size_t part, const uint64_t *sum,
                   struct sheaf_error *err);

#endif
