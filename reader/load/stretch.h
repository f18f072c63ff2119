/* SPDX-License-Identifier: MIT
 *
 * Chooses the records of the next read of a lane that reads along its line.
 *
 *     line:    ... planned | place  place  place  place ...
 *                             |      |      |       \
 *     shard:   ..........[ run ] gap [ run ].......[ run ]     (struct run, extent.h)
 *
 * Consecutive places are usually consecutive records. There are gaps where samples were not chosen
 * or are not wanted now. A small gap is read along, because that costs less than another read. The
 * records of one codec block become the runs of one read, so that the block is read and
 * decompressed once. */
#ifndef READER_STRETCH_H
#define READER_STRETCH_H

#include "reader/load/horizon.h"

#define STRETCH_RUNS 512u

struct stretch {
    struct sequence *sequence;
    const struct order_line *line;
    const struct horizon *horizon;  /* NULL: all samples are wanted */
    struct shard *shard;        /* the open shard that has the position `planned`, which is the
                                   record `found` */
    uint64_t planned;
    struct order_run found;
    /* Results. */
    struct read_plan plan;
    struct run runs[STRETCH_RUNS];
};

/* Returns the uncompressed bytes of the next read of a lane that has planned `planned`
 * positions. */
uint64_t stretch_bytes(const struct loader *loader, uint64_t planned);

/* Returns whether the frame is so large that it is read when it is drawn. In the shuffle buffer it
 * would take the place of many others. */
bool stretch_is_outsize(const struct loader *loader, const struct index_section *section,
                        uint64_t record);

/* Returns the largest gap that is read along. */
uint64_t stretch_gap(bool is_remote, bool is_network);
/* Returns whether a read that ends with record `last` should continue to a later record. */
bool stretch_joins(const struct index_section *section, uint64_t last, uint64_t record,
                   uint64_t gap);

/* Plans the read that begins with the position `planned`. */
void stretch_plan(const struct loader *loader, struct stretch *stretch);

#endif
