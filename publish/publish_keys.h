/* SPDX-License-Identifier: MIT
 *
 * Publishes the table of keys. The journal entries of packed shards contain the hashes of their
 * keys, so no shard is read again. */
#ifndef PUBLISH_PUBLISH_KEYS_H
#define PUBLISH_PUBLISH_KEYS_H

#include "base/sort.h"
#include "formats/manifest.h"
#include "publish/output.h"

struct publish_keys {
    struct sort *sort;
    char *directory;            /* of temporary files */
    uint64_t samples;
    /* number of samples for which the table was first made; it is more than `samples` if edits have
     * removed samples since (see key_table_make); if it is less (0 by default), `samples` is used
     * instead */
    uint64_t keyed;
    /* whether a journal entry was written by a release that did not store the hashes of keys. */
    bool is_incomplete;
};

/* Begins a table of keys for a data set in `directory`. Uses at most `memory_bytes` bytes of
 * memory, which the caller must include in its own memory limit. */
int publish_keys_open(struct publish_keys *keys, const char *directory, uint64_t memory_bytes,
                      struct sheaf_error *err);
/* Adds the key_hash() of the next sample's key. */
int publish_keys_add_hash(struct publish_keys *keys, uint64_t hash, struct sheaf_error *err);
/* Adds the keys of the next shard. */
int publish_keys_add(struct publish_keys *keys, const struct journal_entry *entry,
                     struct sheaf_error *err);
/* Writes the table of a data set, or of a part of it (the first packing or an append). The table
 * contains the fingerprint of the data set. Readers do not see the table until *writer is
 * committed. */
int publish_keys_write(const struct publish_keys *keys, const char *url, const char *fingerprint,
                       struct store_writer **writer, struct sheaf_error *err);
/* Publishes the table as the file `name` in DEST. If the hashes of some keys are unknown, no table
 * is published, and an existing file `name` is removed. */
int publish_keys_put(const struct publish_keys *keys, const struct output *output,
                     const char *name, const char *fingerprint, struct sheaf_error *err);
void publish_keys_close(struct publish_keys *keys);

#endif
