/* SPDX-License-Identifier: MIT
 *
 * Publishes the table of keys, with which readers find samples by key. The hashes of the keys come
 * from the journal entries (the stored facts) of the shards, so no shard is read again. */
#ifndef PUBLISH_PUBLISH_KEYS_H
#define PUBLISH_PUBLISH_KEYS_H

#include "base/sort.h"
#include "formats/manifest.h"
#include "publish/output.h"
#include "publish/output_remove.h"

struct publish_keys {
    struct sort *sort;
    char *directory;            /* of temporary files */
    uint64_t samples;
    /* number of samples when the table was first made. If edits have removed samples since then,
     * `keyed` is greater than `samples` (see key_table_make). Otherwise `keyed` is equal to
     * `samples` or 0. */
    uint64_t keyed;
};

/* Begins a table of keys for the data set in `directory`. Uses up to memory_bytes bytes of memory,
 * which the caller must count in its own limit. */
int publish_keys_open(struct publish_keys *keys, const char *directory, uint64_t memory_bytes,
                      struct sheaf_error *err);
/* Adds the key_hash() of the next sample's key. */
int publish_keys_add_hash(struct publish_keys *keys, uint64_t hash, struct sheaf_error *err);
/* Adds the keys of the next shard. */
int publish_keys_add(struct publish_keys *keys, const struct journal_entry *entry,
                     struct sheaf_error *err);
/* Writes the table of keys of a data set, or of one part of it (the first packing or an append).
 * The table contains the fingerprint of the data set (a hash of its manifest). Readers do not see
 * it until *writer is committed. */
int publish_keys_write(const struct publish_keys *keys, const char *url, const char *fingerprint,
                       struct store_writer **writer, struct sheaf_error *err);
/* Publishes the table as the file `name` in the destination. `stays` is called for an existing file
 * of this name (see output_write_over). */
int publish_keys_put(const struct publish_keys *keys, const struct output *output,
                     const char *name, const char *fingerprint, output_stays_fn *stays,
                     struct sheaf_error *err);
void publish_keys_close(struct publish_keys *keys);

#endif
