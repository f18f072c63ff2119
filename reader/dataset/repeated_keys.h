/* SPDX-License-Identifier: MIT
 *
 * Counts the samples that have the same key as an earlier sample of the data set. The hashes of all
 * keys are sorted, in a temporary file if they do not fit into memory. So any number of samples is
 * possible. */
#ifndef READER_DATASET_REPEATED_KEYS_H
#define READER_DATASET_REPEATED_KEYS_H

#include <pthread.h>

#include "base/sort.h"
#include "reader/dataset/dataset.h"

struct repeated_keys {          /* Must be all zeros before it is opened. */
    struct sort *sort;          /* NULL if the count is not open */
    pthread_mutex_t lock;       /* lock for the sort */
};

/* Begins the count. `memory_bytes` is the memory budget of the caller. The count uses a part of
 * it. */
int repeated_keys_open(struct repeated_keys *keys, uint64_t memory_bytes, struct sheaf_error *err);
/* Adds the key of a sample. May be called on any thread. */
int repeated_keys_add(struct repeated_keys *keys, const char *key, uint32_t shard, uint64_t record,
                      struct sheaf_error *err);
/* Ends the count. Must be called after all samples were added. Sets *count to the number of samples
 * that have the same key as an earlier sample. Writes the place and the key of the first such
 * sample to `first`. */
int repeated_keys_end(struct repeated_keys *keys, const struct sheaf_dataset *dataset,
                      uint64_t *count, char first[512], struct sheaf_error *err);
/* Does nothing if the count is not open. */
void repeated_keys_close(struct repeated_keys *keys);

#endif
