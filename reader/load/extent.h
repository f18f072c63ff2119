/* SPDX-License-Identifier: MIT
 *
 * Runs of records, and their bytes in the shard: shared by the computation of a read's memory
 * (read.c) and its job (read_job.c). */
#ifndef READER_EXTENT_H
#define READER_EXTENT_H

#include "reader/load/shards.h"

/* Consecutive records of one shard.  Runs that JOIN are read as one, with what lies between them:
 *
 *     shard:   ..[ run ] gap [ run ] gap [run]........[ run ]..
 *                 \------- one read --------/           another                                 */
struct run {
    struct shard *shard;
    uint64_t first;
    size_t count;
    bool joins;                 /* the run before it, which lies before it in its shard */
    uint32_t skipped;           /* positions before it that the read does not bring */
};

/* How many of the runs, from the first on, are one read; *whole: from its first record to its
 * last. */
size_t run_row(const struct run *runs, size_t run_count, struct run *whole);

/* How the blocks of a codec are unpacked. */
enum read_how {
    READ_WHOLE,                 /* all of them, into one piece of memory; also without a codec */
    READ_PARTS,                 /* one block, which is in memory as it is stored: each record is
                                   unpacked to its place */
    READ_STEPS,                 /* the same, and the stored bytes come a little at a time */
};

/* Raw bytes [begin, end) of the shard; with a codec, in blocks [block, block_end). */
struct extent {
    uint64_t begin, end;
    uint64_t block, block_end;
};
/* Of the records themselves. */
struct extent extent_of(const struct run *run);
/* Of all blocks that they are in, where there are blocks. */
struct extent extent_of_blocks(const struct run *run);
/* Whether they are of one block, so that they can be unpacked for themselves. */
bool extent_is_in_block(const struct run *run);

/* The stored bytes of its blocks; 0: there are none. */
uint64_t extent_stored(const struct run *run, const struct extent *extent);
/* Of the .lst lines of `count` records from the `first` on. */
uint64_t extent_names(const struct index_section *section, uint64_t first, size_t count);
/* How many raw bytes a row takes where it is read into. */
uint64_t extent_raw(const struct run *whole, enum read_how how);

#endif
