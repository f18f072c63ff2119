/* SPDX-License-Identifier: MIT
 *
 * Which records make the next read of a lane that goes along its line.
 *
 *     line:    ... planned | place  place  place  place ...
 *                             |      |      |       \
 *     shard:   ..........[ run ] gap [ run ].......[ run ]     (struct run, read.h)
 *
 * Consecutive places are mostly consecutive records.  Where samples were not chosen, or are not
 * wanted now, there are gaps.  A small one is read along, as that costs less than a read of its
 * own; and records of one codec block are one run after another of one read, so that the block is
 * read and unpacked once. */
#ifndef READER_STRETCH_H
#define READER_STRETCH_H

#include "reader/load/horizon.h"

#define STRETCH_RUNS 512u

struct stretch {
    struct sequence *sequence;
    const struct order_line *line;
    const struct horizon *horizon;  /* NULL: all is wanted */
    struct shard *shard;        /* open, with the position `planned`, which is this record: */
    uint64_t planned;
    struct order_run found;
    /* Results. */
    struct read_plan plan;
    struct run runs[STRETCH_RUNS];
};

/* Raw bytes of the next read of a lane that has planned so many positions. */
uint64_t stretch_bytes(const struct loader *loader, uint64_t planned);

/* Frames so large are read when they are drawn: in the shuffle buffer they would take the place of
 * many. */
bool stretch_is_outsize(const struct loader *loader, const struct index_section *section,
                        uint64_t record);

/* So many bytes between records are read along. */
uint64_t stretch_gap(bool is_remote, bool is_network);
/* Whether a read that ends with record `last` goes on to a later one. */
bool stretch_joins(const struct index_section *section, uint64_t last, uint64_t record,
                   uint64_t gap);

/* From the planned position on. */
void stretch_plan(const struct loader *loader, struct stretch *stretch);

#endif
