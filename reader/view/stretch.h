/* SPDX-License-Identifier: MIT
 *
 * Which records make the next chunk of a lane that reads in the order of its line.
 *
 *     line:    ... planned | place  place  place  place ...
 *                             |      |      |       \
 *     shard:   ..........[ run ] gap [ run ].......[ run ]     (struct run, chunk_extent.h)
 *
 * Consecutive places are mostly consecutive records.  Where samples were not chosen, or are not
 * wanted now, there are gaps.  A small one is read along, as that costs less than a read of its
 * own; and records of one codec block are one run after another of one chunk, so that the block is
 * read and unpacked once. */
#ifndef READER_VIEW_STRETCH_H
#define READER_VIEW_STRETCH_H

#include "reader/feed.h"
#include "reader/intakes.h"

#define STRETCH_RUNS 512u

struct stretch {
    struct shard *shard;        /* open, with the intake numbered `planned` */
    const struct order_line *line;
    const struct intakes *intakes;
    uint64_t planned;
    /* Results. */
    struct run runs[STRETCH_RUNS];
    size_t run_count;
    size_t count;               /* records */
};

/* Raw bytes of the next chunk of a lane that has planned so many intakes. */
uint64_t stretch_bytes(const struct feed *feed, uint64_t planned);

/* Frames so large are deferred: in the shuffle buffer they would take the place of many. */
bool stretch_is_outsize(const struct feed *feed, const struct index_section *section,
                        uint64_t record);

/* So many bytes between records are read along. */
uint64_t stretch_gap(bool is_remote, bool is_network);
/* Whether a read that ends with record `last` goes on to a later one. */
bool stretch_joins(const struct index_section *section, uint64_t last, uint64_t record,
                   uint64_t gap);

/* From intake `planned` on, which is the record `found`. */
void stretch_plan(const struct feed *feed, const struct order_run *found, struct stretch *stretch);

#endif
