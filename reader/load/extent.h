/* SPDX-License-Identifier: MIT
 *
 * Runs of records, and the bytes that they take in the shard. read.c uses them to compute the
 * memory of a read, and read_job.c to do the read. */
#ifndef READER_EXTENT_H
#define READER_EXTENT_H

#include "reader/load/shards.h"

/* Consecutive records of one shard. Runs that JOIN are read as one, including the gaps between
 * them:
 *
 *     shard:   ..[ run ] gap [ run ] gap [run]........[ run ]..
 *                 \------- one read --------/           another */
struct run {
    struct shard *shard;
    uint64_t first;
    size_t count;
    bool joins;                 /* is read together with the run before it, which precedes it in
                                   the shard */
    uint32_t skipped;           /* number of positions before it that the read leaves out */
};

/* Returns how many of the first runs are read as one. *whole becomes the range from the first
 * record to the last. */
size_t run_row(const struct run *runs, size_t run_count, struct run *whole);

/* How the blocks of a codec are decompressed. */
enum read_how {
    READ_WHOLE,                 /* all blocks, into one piece of memory; also used without a
                                   codec */
    READ_PARTS,                 /* one block, which is read as a whole; each record is
                                   decompressed to its place */
    READ_STEPS,                 /* as READ_PARTS, but the stored bytes are read in small steps */
};

/* Uncompressed bytes [begin, end) of the shard. With a codec, they are in blocks [block,
 * block_end). */
struct extent {
    uint64_t begin, end;
    uint64_t block, block_end;
};
/* Returns the extent of the records themselves. */
struct extent extent_of(const struct run *run);
/* Returns the extent of all blocks that have the records. Without a codec, as extent_of. */
struct extent extent_of_blocks(const struct run *run);
/* Returns whether the records are in one block, so that they can be decompressed alone. */
bool extent_is_in_block(const struct run *run);

/* Returns the number of stored bytes of the extent's blocks, or 0 without a codec. */
uint64_t extent_stored(const struct run *run, const struct extent *extent);
/* Returns the size of the .lst lines of `count` records, beginning with `first`. */
uint64_t extent_names(const struct index_section *section, uint64_t first, size_t count);
/* Returns the size of what a row has beside its data: .lst lines and the records of columns. */
uint64_t extent_beside(const struct run *whole);
/* Returns how many uncompressed bytes the runs of one read take where they are read to. */
uint64_t extent_raw(const struct run *whole, enum read_how how);

#endif
