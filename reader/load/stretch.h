/* SPDX-License-Identifier: MIT
 *
 * Chooses the records of a lane's next read, for a lane that reads its samples in the order of the
 * shards. This order is the epoch's line: its sequence of samples before shuffling. The read begins
 * with the first sample of the lane that was not planned yet.
 *
 * Samples at consecutive positions of the line are usually consecutive records of a shard, which
 * form a run (struct run, extent.h). There are gaps between runs where samples were not chosen or
 * are not wanted now. A small gap is read and dropped, because that costs less than another read.
 * In a compressed shard, the wanted records of a codec block become the runs of one read, so that
 * the block is read and decompressed only once. */
#ifndef READER_STRETCH_H
#define READER_STRETCH_H

#include "reader/load/horizon.h"

#define STRETCH_RUNS 512u

struct stretch {
    struct sequence *sequence;
    const struct order_line *line;
    const struct horizon *horizon;  /* NULL: all samples are wanted */
    /* the open shard that contains the next sample to be read */
    struct shard *shard;
    /* position of this sample in the lane's sequence; reads have been planned for the positions
     * before it */
    uint64_t planned;
    /* record of this sample in the shard */
    struct order_run found;
    /* Results. */
    struct read_plan plan;
    struct run runs[STRETCH_RUNS];
};

/* Returns the number of uncompressed bytes for the next read of a lane that has already planned
 * `planned` positions. */
uint64_t stretch_bytes(const struct loader *loader, uint64_t planned);

/* Returns whether a frame (stored record) is so large that it is read only when it is drawn. In the
 * shuffle buffer it would take the room of many other samples. */
bool stretch_is_outsize(const struct loader *loader, const struct index_section *section,
                        uint64_t record);

/* Returns the size of the largest gap between two wanted records that is read together with them.
 * It depends on the kind of store. */
uint64_t stretch_gap(bool is_remote, bool is_network);
/* Returns the same for an open shard. */
uint64_t stretch_gap_of(const struct shard *shard);
/* Returns whether a read that ends with the record `last` should continue up to the later record
 * `record`. `gap` is the largest gap that is worth reading. */
bool stretch_joins(const struct index_section *section, uint64_t last, uint64_t record,
                   uint64_t gap);

/* Plans the read that begins with the position `planned`. */
void stretch_plan(const struct loader *loader, struct stretch *stretch);

#endif
