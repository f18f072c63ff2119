/* SPDX-License-Identifier: MIT
 *
 * A running epoch: its beginning, the turns of its lanes, and its end. */
#ifndef READER_EPOCH_H
#define READER_EPOCH_H

#include "reader/reader_state.h"

/* Makes the table of the lanes of this member. `lanes` is the number of lanes of all members. */
int epoch_set_lanes(struct sheaf_reader *r, uint32_t lanes);

/* Begins the epoch of r->load.order at the position after `rounds` rounds and `extra` lanes.
 * Nothing is read before the first sample is asked for, because the program may still go to another
 * position. */
int epoch_begin(struct sheaf_reader *r, uint64_t rounds, uint64_t extra);
/* Releases the samples that the last call returned. */
void epoch_release(struct sheaf_reader *r);
/* Stops all jobs and drops everything that was read ahead. */
void epoch_end(struct sheaf_reader *r);

/* Must be called before a sample is taken. Begins to read if that has not happened yet, and reads a
 * stream up to the position where it was resumed. */
int epoch_go_on(struct sheaf_reader *r);

/* Returns the next item of the epoch. Skips or reports bad items as the options say. */
int epoch_next(struct sheaf_reader *r, struct ref *ref);

/* Counts a bad record. Returns SHEAF_OK if it may be skipped. Otherwise returns its code, with
 * r->error set. */
int epoch_bad(struct sheaf_reader *r, uint32_t shard, const struct sheaf_error *bad);

#endif
