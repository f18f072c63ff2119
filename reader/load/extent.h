/* SPDX-License-Identifier: MIT
 *
 * Runs (ranges of consecutive records of a shard), and the bytes that they occupy in the shard.
 * read.c uses these functions to compute the memory of a read, and read_job.c to carry it out. */
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
    /* whether this run is read together with the previous run, which precedes it in the shard */
    bool joins;
    /* number of positions of the lane's sequence, directly before this run, whose samples are not
     * read */
    uint32_t skipped;
};

/* Finds the runs (ranges of records) that are read together as one range of the shard, beginning
 * with the first run. Returns their number. Sets *whole to the range from their first record to
 * their last. */
size_t run_row(const struct run *runs, size_t run_count, struct run *whole);

/* How the blocks of a codec are decompressed. */
enum read_how {
    /* all blocks are decompressed into one piece of memory; also used if the shard has no codec */
    READ_WHOLE,
    /* only one block is read, as a whole; each wanted record is decompressed directly to its
     * destination */
    READ_PARTS,
    /* like READ_PARTS, but the stored bytes of the block are read in small steps */
    READ_STEPS,
};

/* Uncompressed bytes of the shard, from `begin` up to, but not including, `end`. If the shard is
 * compressed, they lie in the blocks from `block` up to, but not including, `block_end`. */
struct extent {
    uint64_t begin, end;
    uint64_t block, block_end;
};
/* Returns the extent of the records themselves. */
struct extent extent_of(const struct run *run);
/* Returns the extent of all codec blocks that contain the records. If the shard is not compressed,
 * returns the same extent as extent_of. */
struct extent extent_of_blocks(const struct run *run);
/* Returns whether all records lie in a single codec block, so that they can be decompressed
 * alone. */
bool extent_is_in_block(const struct run *run);

/* Returns the number of stored bytes in the extent's codec blocks, or 0 if the shard is not
 * compressed. */
uint64_t extent_stored(const struct run *run, const struct extent *extent);
/* Returns the size of the lines for `count` records in the shard's .lst file, beginning with the
 * record `first`. */
uint64_t extent_names(const struct index_section *section, uint64_t first, size_t count);
/* Returns the size of the data that a run of records has outside the shard: its lines in the .lst
 * file, and its records in columns. */
uint64_t extent_beside(const struct run *whole);
/* Returns the number of uncompressed bytes that a read of these runs (ranges of records) brings
 * into memory. It depends on how codec blocks are decompressed. */
uint64_t extent_raw(const struct run *whole, enum read_how how);

#endif
