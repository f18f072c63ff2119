/* SPDX-License-Identifier: MIT
 *
 * Writes one shard. Takes the shard's blocks in order, writes and hashes them, and collects the
 * facts for the manifest and the index. Also writes the files that belong to the shard: the .lst
 * and .idx files of a RecordIO shard, and the index files that other programs need. */
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
    /* budget for data on its way to the store; NULL if the amount is not limited */
    struct part_memory *memory;
    struct shard_files files;
    /* the shard's .lst file while it is being written; NULL if the container has no .lst files (see
     * format_ops.has_names) */
    struct store_writer *names;
    XXH3_state_t *hash, *names_hash;
    struct index_writer index;
    /* has_label: true if at least one sample has a label. has_other_label: true if at least one
     * sample has a label that the index cannot store. */
    bool has_label, has_other_label;
    struct interop_writer interop;
    struct codec_total total;
    uint64_t lead;              /* bytes before the first block */
    struct buf text;
    struct shard_facts facts;
    struct buf section;         /* section of the index; set by shard_writer_end() */
    struct buf keys;            /* key_hash() of each sample's key, in order: u64, little-endian */
    struct tally tally;         /* of its fields; */
    struct buf fields;          /* text; set by shard_writer_end() */
    struct buf notes;           /* "NAME<TAB>BYTES<TAB>XXH3-128\n" for each file; set by
                                   shard_writer_describe() */
};

/* Opens a writer for one shard of about `expected_bytes` bytes, or of unknown size if
 * `expected_bytes` is 0. */
int shard_writer_open(struct shard_writer **writer, const struct block_setup *setup,
                      const char *directory, const char *name, struct part_memory *memory,
                      uint64_t expected_bytes, struct sheaf_error *err);
/* Returns how many objects (the shard and files that belong to it) are written at the same time for
 * a shard. */
unsigned shard_writer_objects(const struct block_setup *setup);
/* Adds the bytes of a block to the shard's hash. Adds the block's samples and bytes to the shard's
 * counts. May run on any thread, but the blocks must be hashed in order. */
void shard_writer_hash(struct shard_writer *writer, const struct block *block);
int shard_writer_add(struct shard_writer *writer, const struct block *block,
                     struct sheaf_error *err);
/* Writes the end of the shard. Afterwards the facts about the shard and its section of the index
 * are complete. */
int shard_writer_end(struct shard_writer *writer, struct sheaf_error *err);
/* Completes the .lst file and the index files that belong to the shard. Moves the facts about the
 * shard, its section of the index and the hashes of its keys to the journal entry. */
int shard_writer_describe(struct shard_writer *writer, struct journal_entry *entry,
                          struct sheaf_error *err);
/* Frees the writer. If the shard was not committed, removes everything that was written for it. */
void shard_writer_close(struct shard_writer *writer);   /* NULL is fine */

#endif
