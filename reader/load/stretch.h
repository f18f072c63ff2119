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
/* Returns the largest gap for an open shard, like stretch_gap. */
uint64_t stretch_gap_of(const struct shard *shard);
/* Returns true if a read that ends with record `last` should also include the later record `record`
 * and the gap between them. `gap` is the largest gap in bytes that is worth reading. */
bool stretch_joins(const struct index_section *section, uint64_t last, uint64_t record,
                   uint64_t gap);

#endif
