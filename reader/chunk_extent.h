/* SPDX-License-Identifier: MIT
 *
 * The extents of a chunk's runs in their shards, shared by the computation of its memory
 * (chunk_memory.c) and its job (chunk.c). */
#ifndef READER_CHUNK_EXTENT_H
#define READER_CHUNK_EXTENT_H

#include "reader/shard.h"

/* Consecutive records of one shard.  Runs that JOIN are read as one, with what lies between them:
 *
 *     shard:   ..[ run ] gap [ run ] gap [run]........[ run ]..
 *                 \------- one read --------/           another                                 */
struct run {
    struct shard *shard;
    uint64_t first;
    size_t count;
    bool joins;                 /* the run before it, which lies before it in its shard */
};

/* How many of the runs, from the first on, are one read; *whole: from its first record to its
 * last. */
size_t run_row(const struct run *runs, size_t run_count, struct run *whole);

/* The raw bytes that are unpacked for a run: [begin, end) of the shard.  With a codec, of blocks
 * [block, block_end): whole ones, unless it is done in pieces. */
struct chunk_extent {
    uint64_t begin, end;
    uint64_t block, block_end;
};
struct chunk_extent chunk_extent(const struct run *run, bool in_pieces);

/* What the stored bytes of blocks [block, block_end) take. */
uint64_t chunk_stored_memory(const struct run *run, const struct chunk_extent *e, bool in_pieces);

/* Of the .lst lines of `count` records from the `first` on. */
uint64_t chunk_names_bytes(const struct index_section *s, uint64_t first, size_t count);

/* What runs take in the chunk's buffers. */
struct chunk_sizes {
    uint64_t data, names, stored;
    size_t count;
};
struct chunk_sizes chunk_sizes(const struct run *runs, size_t run_count, bool in_pieces);

#endif
