/* SPDX-License-Identifier: MIT
 *
 * Writes one shard. It takes the shard's blocks in order, writes and hashes them, and collects data
 * for the manifest and the index. It also writes the files beside the shard: the .lst and .idx of a
 * RecordIO shard, and the index files that other programs need. */
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
    /* memory for data on its way to the store; NULL if this memory has no limit */
    struct part_memory *memory;
    struct shard_files files;
    /* the .lst file while it is being written; NULL if the container has no such file (see
     * format_ops.has_names) */
    struct store_writer *names;
    XXH3_state_t *hash, *names_hash;
    struct index_writer index;
    /* whether any sample has a label; whether any sample has a label that the index cannot store */
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

/* Opens a writer for a shard of about `expected_bytes` bytes; 0 means that the size is unknown. */
int shard_writer_open(struct shard_writer **writer, const struct block_setup *setup,
                      const char *directory, const char *name, struct part_memory *memory,
                      uint64_t expected_bytes, struct sheaf_error *err);
/* Returns the number of objects that are written at the same time for a shard. */
unsigned shard_writer_objects(const struct block_setup *setup);
/* Hashes the bytes of a block, and adds the block's numbers of samples and bytes to those of the
 * shard. May run on any thread, but blocks must be hashed in their order. */
void shard_writer_hash(struct shard_writer *writer, const struct block *block);
int shard_writer_add(struct shard_writer *writer, const struct block *block,
                     struct sheaf_error *err);
/* Writes the end of the shard. Afterwards the facts about the shard and its index section are
 * complete. */
int shard_writer_end(struct shard_writer *writer, struct sheaf_error *err);
/* Completes the .lst file and the index files for other programs, which are stored beside the
 * shard. Moves the facts about the shard, its index section and the hashes of its keys to the
 * journal entry. */
int shard_writer_describe(struct shard_writer *writer, struct journal_entry *entry,
                          struct sheaf_error *err);
/* Frees the writer and removes everything of the shard that was not committed. */
void shard_writer_close(struct shard_writer *writer);   /* NULL is fine */

#endif
