/* SPDX-License-Identifier: MIT
 *
 * A running epoch: its beginning, the order in which its lanes are asked for samples, and its
 * end. */
#ifndef READER_EPOCH_H
#define READER_EPOCH_H

#include "reader/reader_state.h"

/* Makes the table of lanes that this rank and worker reads. `lanes` is the number of lanes of all
 * ranks and workers. */
int epoch_set_lanes(struct sheaf_reader *r, uint32_t lanes);

/* Begins the epoch of r->load.order. It begins after `rounds` rounds (one sample of each lane), and
 * after one more sample of each of the first `extra` lanes. Nothing is read before the first sample
 * is requested, because the program may still move to another position. */
int epoch_begin(struct sheaf_reader *r, uint64_t rounds, uint64_t extra);
/* Releases the samples that the last call returned. */
void epoch_release(struct sheaf_reader *r);
/* Stops all jobs and drops all samples that were read ahead. */
void epoch_end(struct sheaf_reader *r);

/* Must be called before a sample is taken. Begins to read if that has not happened yet. A stream
 * that was resumed is first read up to its position. */
int epoch_go_on(struct sheaf_reader *r);

/* Returns the next item (a sample's record, or its error) of the epoch. Bad items are skipped or
 * reported, depending on the options. */
int epoch_next(struct sheaf_reader *r, struct ref *ref);

/* Counts a bad record. Returns SHEAF_OK if the options allow to skip it. Otherwise returns its
 * error code and sets r->error. */
int epoch_bad(struct sheaf_reader *r, uint32_t shard, const struct sheaf_error *bad);

#endif
