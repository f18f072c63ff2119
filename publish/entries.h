/* SPDX-License-Identifier: MIT
 *
 * Reads the journal entries of many shards in order, several at the same time. A journal entry has
 * the facts about a finished shard. Each entry is a file or object of its own. */
#ifndef PUBLISH_ENTRIES_H
#define PUBLISH_ENTRIES_H

#include "publish/output.h"

struct entries;

/* The shard whose journal entry (the stored facts about the shard) is read next. A function of the
 * caller (entries_shard_fn) fills in this struct. The function returns SHEAF_END if the shard has
 * no entry. The shard is then skipped. */
struct entries_shard {
    uint32_t split;
    uint64_t number;            /* within the split, as in its name */
};
typedef int entries_shard_fn(const void *context, uint64_t number, struct entries_shard *shard,
                             struct sheaf_error *err);

/* Begins to read the journal entries (the stored facts) of the shards with the numbers 0 to count -
 * 1. `shard` is called for each of these numbers in order, to find the shard's split and its number
 * in the split. */
int entries_open(const struct output *output, uint64_t count, entries_shard_fn *shard,
                 const void *context, struct entries **entries, struct sheaf_error *err);
/* Returns the next journal entry, which is valid until the next call. The function's result is the
 * result of journal_get() for this entry. */
int entries_next(struct entries *entries, const struct journal_entry **entry,
                 struct sheaf_error *err);
void entries_close(struct entries *entries);        /* NULL is fine */

#endif
