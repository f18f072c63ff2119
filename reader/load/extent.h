/* SPDX-License-Identifier: MIT
 *
 * Functions for runs, which are ranges of consecutive records of a shard. They compute the bytes of
 * a run in the shard. read.c uses them to compute the memory for a read, and read_job.c uses them
 * to carry out the read. */
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
    /* True if this run and the run before it in the list are read as one range of the shard,
     * including the gap between them. False if this run begins a new range. */
    bool joins;
    bool repeats;               /* true if its samples repeat other samples as padding */
    /* Number of samples directly before this run that this read leaves out. They are read later,
     * for example, when they are drawn. */
    uint32_t skipped;
};

/* Finds the runs (ranges of records) at the beginning of the list that are read together, as one
 * range of the shard. Returns the number of these runs. Sets *whole to the range, from the first
 * record of the first run to the last record of the last one. */
size_t run_row(const struct run *runs, size_t run_count, struct run *whole);

/* Range of bytes of the uncompressed shard, from `begin` to `end` - 1. If the shard is compressed
 * in blocks, these bytes are in the blocks `block` to `block_end` - 1. */
struct extent {
    uint64_t begin, end;
    uint64_t block, block_end;
};
/* Returns the range of uncompressed bytes that a read of the run brings into memory. If the shard
 * is compressed and `by_record` is false, these are all bytes of the codec blocks in which the
 * records lie. Otherwise they are the bytes from the first to the last record. */
struct extent extent_of(const struct run *run, bool by_record);
/* Returns true if all records of the run (a range of records) are in one block of the codec. Then
 * they can be decompressed without the rest of the block. */
bool extent_is_in_block(const struct run *run);

/* Returns the number of stored (compressed) bytes in the codec blocks of an extent, which is a
 * range of bytes of the uncompressed shard. Returns 0 if the shard is not compressed. */
uint64_t extent_stored(const struct run *run, const struct extent *extent);
/* Returns the number of bytes in the lines of the shard's .lst file for `count` records, of which
 * `first` is the first. */
uint64_t extent_names(const struct index_section *section, uint64_t first, size_t count);
/* Returns the number of bytes that `count` records, from `first` on, have outside the shard: in
 * lines of its .lst file, and in columns. */
uint64_t extent_beside(const struct shard *shard, uint64_t first, size_t count);

#endif
