/* SPDX-License-Identifier: MIT
 *
 * Reads the rest of a damaged shard as a reader reads it: record by record, with the offsets and
 * codec blocks of the index. A walk through the shard cannot continue after damage in a compressed
 * stream, and may miss records after damage in a header. */
#ifndef READER_VERIFY_REST_H
#define READER_VERIFY_REST_H

#include "reader/dataset/frames.h"
#include "reader/load/read.h"

struct rest {
    const struct sheaf_dataset *dataset;
    struct shard *shard;            /* the open shard; it must have an index section */
    /* Most memory in bytes for the records that are read at once. If it is too small for a record,
     * the record is read alone, with the memory `large`, which other threads share. */
    uint64_t limit;
    struct frames_large *large;
    const volatile int *interrupt;
    /* Called for each record, good or bad. Returns SHEAF_END to end the reading, which is not an
     * error. */
    int (*take)(void *context, const struct item *item, struct sheaf_error *err);
    void *context;
};

/* Reads the records of the shard from number `first` on. */
int rest_read(const struct rest *rest, uint64_t first, struct sheaf_error *err);

#endif
