/* SPDX-License-Identifier: MIT
 *
 * An epoch that is being read: how it begins, the order in which samples are taken from its lanes,
 * and how it ends. A lane is one of the equal sequences into which an epoch is divided. */
#ifndef READER_EPOCH_H
#define READER_EPOCH_H

#include "reader/reader_state.h"

/* Makes the table of the lanes (sequences of samples) that this rank and worker reads in an epoch
 * with the order r->load.order. */
int epoch_set_lanes(struct sheaf_reader *r);

/* Begins the epoch of r->load.order after its first `rounds` rounds. In a round, each lane (a
 * sequence of samples) gives one sample. The first `extra` lanes begin one sample later than the
 * other lanes.
 *
 * Nothing is read until the first sample is requested, because the program may still move to
 * another position. */
int epoch_begin(struct sheaf_reader *r, uint64_t rounds, uint64_t extra);
/* Releases the samples that the last call returned. */
void epoch_release(struct sheaf_reader *r);
/* Ends the epoch: stops all jobs, and drops all samples that were read in advance. */
void epoch_end(struct sheaf_reader *r);

/* Must be called before a sample is taken. Begins the reads if none was begun yet. If a stream was
 * resumed, first reads it up to the saved position. */
int epoch_go_on(struct sheaf_reader *r);

/* Returns the next item of the epoch: the record of a sample, or the error of a bad record. Bad
 * records are skipped if the options allow this. */
int epoch_next(struct sheaf_reader *r, struct ref *ref);

/* Counts a bad record. If the options allow to skip bad records, returns SHEAF_OK. Otherwise sets
 * r->error to the error of the record, and returns its code. */
int epoch_bad(struct sheaf_reader *r, uint32_t shard, const struct sheaf_error *bad);

#endif
