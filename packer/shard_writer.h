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
#include "store/part_memory.h"
#include "store/store.h"

/* Bytes of a shard's name, with its NUL. */
#define SHARD_NAME_BYTES 256

/* What there is to say of a finished shard. */
struct shard_facts {
    char name[SHARD_NAME_BYTES];
    uint64_t bytes, raw_bytes, payload_bytes, samples, files, largest, names_bytes;
    uint64_t multipart;         /* records */
    uint64_t resized;           /* images that were only made smaller */
    bool has_cls;               /* samples that a program made: some have a field `cls` */
    char xxh3[HASH_TEXT_BYTES];
    char library[CODEC_LIBRARY_BYTES];      /* that compressed it; "": unknown */
};

/* A file beside a shard, once the shard has ended. */
struct shard_side {
    char name[SHARD_NAME_BYTES];
    struct buf data;            /* empty for the .lst, which has a writer */
    uint64_t stamp;             /* once it is written */
};
#define SIDES_MOST 8

struct shard_writer {
    const struct block_setup *setup;
    char *directory;
    struct part_memory *memory;         /* for what waits for the store; NULL: as it likes */
    struct store_writer *shard, *names;     /* the .lst: with has_names only */
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
    struct shard_side sides[SIDES_MOST];
    size_t side_count;
    struct buf notes;           /* "NAME<TAB>BYTES<TAB>XXH3-128\n" of each; after
                                   shard_writer_make_sides() */
};

/* "PREFIX-000000.tar.gz"; wide enough for `shard_count` shards to sort by name. */
int shard_name(char name[SHARD_NAME_BYTES], const struct block_setup *setup, const char *prefix,
               uint64_t number, uint64_t shard_count, struct sheaf_error *err);
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
/* Says what lies beside the shard. */
int shard_writer_make_sides(struct shard_writer *writer, struct sheaf_error *err);
/* Makes that durable and visible, over what was seen; then the shard itself. */
int shard_writer_put_sides(struct shard_writer *writer, const struct store_seen *seen,
                           struct sheaf_error *err);
int shard_writer_commit(struct shard_writer *writer, const struct store_seen *seen,
                        struct store_seen *now, struct sheaf_error *err);
/* Frees it, leaving nothing behind of what was not committed. */
void shard_writer_close(struct shard_writer *writer);   /* NULL is fine */

#endif
