/* SPDX-License-Identifier: MIT
 *
 * Counts the samples of an epoch; see sum.c. Each sample of the epoch must be returned, or counted
 * as bad or left out. At the end of the epoch, the sum is compared with the number of samples that
 * the epoch should have. */
#ifndef READER_SUM_H
#define READER_SUM_H

#include "reader/reader_state.h"

/* Begins to count the samples of an epoch. Its lanes (sequences of samples) must already have
 * begun. `rounds` and `extra` state the position at which the epoch begins. */
void sum_begin(struct sheaf_reader *r, uint64_t rounds, uint64_t extra);

/* Returns true if a sample was taken from a lane (a sequence of samples), but neither returned to
 * the caller nor counted as bad or left out. If an error occurs in this state, a sample is lost,
 * and the reader cannot continue. */
bool sum_is_open(const struct sheaf_reader *r);

/* Called if a stream ends before the position at which it should be resumed.
 *
 * If this reader has only some of the epoch's lanes (sequences of samples), returns SHEAF_OK,
 * because the position may be in a longer lane that another reader has. If this reader has all
 * lanes, returns an error. */
int sum_check_start(struct sheaf_reader *r);

/* Checks at the end of the epoch that each sample was returned or counted. Returns SHEAF_END if the
 * sum is right, and SHEAF_ERR_MISMATCH if it is wrong. Returns SHEAF_ERR_CORRUPT if no sample could
 * be read, because all records were damaged. */
int sum_check(struct sheaf_reader *r);

#endif
