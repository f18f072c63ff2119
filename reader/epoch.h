/* SPDX-License-Identifier: MIT
 *
 * A running epoch: its beginning, the turns of its lanes, and its end. */
#ifndef READER_EPOCH_H
#define READER_EPOCH_H

#include "reader/reader_state.h"

/* Makes the table of this member's lanes, of `lanes` in all, which its members divide. */
int epoch_set_lanes(struct sheaf_reader *r, uint32_t lanes);

/* Begins the epoch that r->load.order says, `rounds` rounds and `extra` lanes into it.  Nothing is
 * read before the first sample is asked for: the reader may be taken to another position first. */
int epoch_begin(struct sheaf_reader *r, uint64_t rounds, uint64_t extra);
/* Takes back what the caller had of the last call. */
void epoch_release(struct sheaf_reader *r);
/* Stops all jobs and drops all that is in flight. */
void epoch_end(struct sheaf_reader *r);

/* Before a sample is taken: begins to read, if that was not done, and reads a stream on to where it
 * was resumed. */
int epoch_go_on(struct sheaf_reader *r);

/* The next item of the epoch, bad ones passed over or not as the options say. */
int epoch_next(struct sheaf_reader *r, struct ref *ref);

/* Notes a bad record: SHEAF_OK if it may be skipped, else its code, with r->error set. */
int epoch_bad(struct sheaf_reader *r, uint32_t shard, const struct sheaf_error *bad);

#endif
