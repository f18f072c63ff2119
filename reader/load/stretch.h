/* SPDX-License-Identifier: MIT
 *
 * The queue of a lane that reads its samples in the order of the shards. (A lane is one of the
 * equal sequences of an epoch.) Chooses the records of each read.
 *
 * The read begins with the first sample of the lane for which no read is planned yet. Consecutive
 * records of a shard form a run (struct run, extent.h). Between two runs there is a gap, with
 * records that the lane does not need now. A small gap is read and dropped, because this is faster
 * than another read.
 *
 * In a compressed shard, one read brings all wanted records of a codec block, so that the block is
 * decompressed only once. */
#ifndef READER_STRETCH_H
#define READER_STRETCH_H

#include "reader/load/loader.h"

/* Returns the number of uncompressed bytes that the next read of a lane (a sequence of samples)
 * should have. `planned` is the number of positions for which the lane has already planned
 * reads. */
uint64_t stretch_bytes(const struct loader *loader, uint64_t planned);

/* A gap is the bytes between two wanted records. Returns the size in bytes of the largest gap that
 * is read together with the records before and after it. A larger gap is skipped. The result
 * depends on whether the shard is in a remote store, on a network file system, or on a local
 * disk. */
uint64_t stretch_gap(bool is_remote, bool is_network);
/* Returns true if a read that ends with record `last` should also include the later record `record`
 * and the gap between them. `gap` is the largest gap in bytes that is worth reading. */
bool stretch_joins(const struct index_section *section, uint64_t last, uint64_t record,
                   uint64_t gap);

/* The records of a read, and the state while records are added to it. */
struct stretch {
    struct run *runs;           /* The caller provides memory for `run_most` runs. */
    size_t run_most;
    struct read_plan plan;
    const struct loader *loader;
    const struct shard *shard;
    /* offset in the shard's uncompressed bytes at which the read should end */
    uint64_t stop;
    uint64_t left;              /* number of bytes that single records may still take */
    size_t gaps_left;           /* number of gaps that the read may still skip */
};

/* Begins to plan a read of about `bytes` bytes, whose first record is `record`. The shard must be
 * open. The read may skip at most `gaps` gaps between its records. The caller has set t->runs and
 * t->run_most. */
void stretch_begin(struct stretch *t, const struct loader *loader, struct shard *shard,
                   uint64_t record, uint64_t bytes, size_t gaps);
/* Adds a record to the read. Returns false if the read should end before this record, for example
 * because the record extends beyond t->stop.
 *
 * There may be a gap between the last record of the read and the new record. In a shard without
 * codec blocks, a small gap is read as well, and a large gap is skipped. In a shard with codec
 * blocks, a gap is read if it has no whole block, because the blocks before and after it are read
 * anyway. If a gap is skipped, t->stop is increased by its size, because the skipped bytes do not
 * count towards the size of the read.
 *
 * If `resumed` is true, the samples in the gap were returned before the epoch was resumed. In a
 * shard without codec blocks, such a gap is always skipped. */
bool stretch_add(struct stretch *t, uint64_t record, bool resumed, uint32_t skipped);

#endif
