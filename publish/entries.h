/* SPDX-License-Identifier: MIT
 *
 * Reads the journal entries of many shards in order, several at the same time. Each entry is a file
 * or object of its own, which may be remote. */
#ifndef PUBLISH_ENTRIES_H
#define PUBLISH_ENTRIES_H

#include "publish/output.h"

struct entries;

/* A shard whose journal entry is read next: its split, and its number within the split. The
 * caller's function fills in this struct. It returns SHEAF_END to skip a shard that has no
 * entry. */
struct entries_shard {
    uint32_t split;
    uint64_t number;            /* within the split, as in its name */
};
typedef int entries_shard_fn(const void *context, uint64_t number, struct entries_shard *shard,
                             struct sheaf_error *err);

/* Begins to read the journal entries of the shards 0 to count - 1. The function `shard` is called
 * for these shards in this order. */
int entries_open(const struct output *output, uint64_t count, entries_shard_fn *shard,
                 const void *context, struct entries **entries, struct sheaf_error *err);
/* Returns the next journal entry, which is valid until the next call. The result is the one that
 * journal_get returns for this entry. */
int entries_next(struct entries *entries, const struct journal_entry **entry,
                 struct sheaf_error *err);
void entries_close(struct entries *entries);        /* NULL is fine */

#endif
