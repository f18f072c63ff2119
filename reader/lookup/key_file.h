/* SPDX-License-Identifier: MIT
 *
 * dataset.keys beside a data set (formats/key_table.h): looks keys up, and checks it. */
#ifndef READER_LOOKUP_KEY_FILE_H
#define READER_LOOKUP_KEY_FILE_H

#include "base/buf.h"
#include "reader/dataset/dataset.h"

/* A sample that may have one of the keys that were asked for. */
struct key_match {
    size_t asked;               /* which */
    uint64_t number;            /* in the source */
};

/* Appends the matches of keys with these hashes to `matches`, in no particular order.  `source` is
 * a data set that is no union.  SHEAF_ERR_UNSUPPORTED: it has no such file. */
int key_file_find(const struct sheaf_dataset *source, const uint64_t *hashes, size_t count,
                  const volatile int *interrupt, struct buf *matches, struct sheaf_error *err);

/* Reads all of the file of a part of the source and checks it.  `sum`: of key_table_part over all
 * its samples; NULL: only what can be told without.  SHEAF_END: there is none, which is fine. */
int key_file_check(const struct sheaf_dataset *source, size_t part, const uint64_t *sum,
                   struct sheaf_error *err);

#endif
