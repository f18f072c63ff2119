/* SPDX-License-Identifier: MIT
 *
 * Publishes the table of keys. The journal's entries contain the hashes of the keys in packed
 * shards, so that nothing is read again. */
#ifndef PUBLISH_PUBLISH_KEYS_H
#define PUBLISH_PUBLISH_KEYS_H

#include "base/sort.h"
#include "formats/manifest.h"
#include "publish/output.h"

struct publish_keys {
    struct sort *sort;
    char *directory;            /* of temporary files */
    uint64_t samples;
    uint64_t keyed;             /* as key_table_make takes it; less than `samples`: unknown, the
                                   number of samples */
    bool is_incomplete;         /* whether some entry is of a release that kept no keys */
};

/* Opens the table for a data set in `directory`. It uses a share of at most `memory_bytes` of the
 * caller's memory. */
int publish_keys_open(struct publish_keys *keys, const char *directory, uint64_t memory_bytes,
                      struct sheaf_error *err);
/* Adds the key_hash() of the next sample's key. */
int publish_keys_add_hash(struct publish_keys *keys, uint64_t hash, struct sheaf_error *err);
/* Adds the keys of the next shard. */
int publish_keys_add(struct publish_keys *keys, const struct journal_entry *entry,
                     struct sheaf_error *err);
/* Writes the table for the data set, or a part of one, with this fingerprint. Nobody sees the table
 * until *writer is committed. */
int publish_keys_write(const struct publish_keys *keys, const char *url, const char *fingerprint,
                       struct store_writer **writer, struct sheaf_error *err);
/* Publishes the table as the file `name` in DEST. If keys are missing, removes an existing file
 * instead. */
int publish_keys_put(const struct publish_keys *keys, const struct output *output,
                     const char *name, const char *fingerprint, struct sheaf_error *err);
void publish_keys_close(struct publish_keys *keys);

#endif
