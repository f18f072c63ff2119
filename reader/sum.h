/* SPDX-License-Identifier: MIT
 *
 * The sum of an epoch: how many samples were promised, handed out and counted as bad; see sum.c. */
#ifndef READER_SUM_H
#define READER_SUM_H

#include "reader/reader_state.h"

/* Starts the sum of an epoch whose lanes have started. */
void sum_begin(struct sheaf_reader *r, uint64_t rounds, uint64_t extra);

/* A turn was taken whose sample is neither handed out nor counted: what fails now is final. */
bool sum_is_open(const struct sheaf_reader *r);

/* A stream ended before the place where it was to be resumed.  That is an error, unless others have
 * longer lanes: SHEAF_OK. */
int sum_check_start(struct sheaf_reader *r);

/* At the end of the epoch: SHEAF_END; SHEAF_ERR_MISMATCH; SHEAF_ERR_CORRUPT if all of it was. */
int sum_check(struct sheaf_reader *r);

#endif
