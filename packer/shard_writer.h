/* SPDX-License-Identifier: MIT
 *
 * Writes one shard: takes its blocks in order, writes and hashes them, and collects its data for
 * the manifest and the index.  Beside it lie a RecordIO shard's .lst and .idx, and what other
 * readers' indexes were asked for. */
#ifndef PACKER_SHARD_WRITER_H
#define PACKER_SHARD_WRITER_H

#include <stdbool.h>

#include "base/hash_text.h"
#include "base/xxh3_wide.h"
#include "formats/index.h"
#include "formats/interop_index.h"
#include "formats/manifest.h"
#include "packer/block.h"
#include "publish/journal.h"
#include "publish/shard_files.h"
#include "store/part_memory.h"
#include "store/store.h"

struct shard_writer {
    const struct block_setup *setup;
    char *directory;
    struct part_memory *memory;         /* for what waits for the store; NULL: as it likes */
    struct shard_files files;
    struct store_writer *names;         /* the .lst, until it is one of the files beside the shard:
                                           with has_names only */
    XXH3_state_t *hash, *names_hash;
    struct index_writer index;
    bool has_label, has_other_label;    /* some sample has one; one that the index cannot keep */
    struct interop_writer interop;
    struct codec_total total;
    uint64_t lead;              /* bytes before the first block */
    struct buf text;
    struct shard_facts facts;
    struct buf section;         /* of the index; after shard_writer_end() */
    struct buf keys;            /* key_hash() of each sample's key, in order: u64, little-endian */
    struct tally tally;         /* of its fields; */
    struct buf fields;          /* after shard_writer_end() as text */
    struct buf notes;           /* "NAME<TAB>BYTES<TAB>XXH3-128\n" of each; after
                                   shard_writer_describe() */
};

/* About `expected_bytes` will be written to it; 0: unknown. */
int shard_writer_open(struct shard_writer **writer, const struct block_setup *setup,
                      const char *directory, const char *name, struct part_memory *memory,
                      uint64_t expected_bytes, struct sheaf_error *err);
/* How many objects are written at once for a shard. */
unsigned shard_writer_objects(const struct block_setup *setup);
/* A block is hashed, and added: in any order or at once, but one block after the other. */
void shard_writer_hash(struct shard_writer *writer, const struct block *block);
int shard_writer_add(struct shard_writer *writer, const struct block *block,
                     struct sheaf_error *err);
/* Writes what comes after the last block; facts and section are then complete. */
int shard_writer_end(struct shard_writer *writer, struct sheaf_error *err);
/* Makes the files beside the shard, and gives the entry what the writer has gathered for it. */
int shard_writer_describe(struct shard_writer *writer, struct journal_entry *entry,
                          struct sheaf_error *err);
/* Frees it, leaving nothing behind of what was not committed. */
void shard_writer_close(struct shard_writer *writer);   /* NULL is fine */

#endif
