/* SPDX-License-Identifier: MIT
 *
 * The sum of an epoch: the numbers of samples that were promised, handed out and counted as bad;
 * see sum.c. */
#ifndef READER_SUM_H
#define READER_SUM_H

#include "reader/reader_state.h"

/* Starts the sum of an epoch whose lanes have started. */
void sum_begin(struct sheaf_reader *r, uint64_t rounds, uint64_t extra);

/* Returns whether a turn was taken whose sample is neither handed out nor counted. An error is then
 * final. */
bool sum_is_open(const struct sheaf_reader *r);

/* Called if a stream ends before the position where it should resume. Returns SHEAF_OK if other
 * members may have longer lanes; otherwise this is an error. */
int sum_check_start(struct sheaf_reader *r);

/* Checks the sum at the end of the epoch. Returns SHEAF_END if it is right, SHEAF_ERR_MISMATCH if
 * not, and SHEAF_ERR_CORRUPT if no sample could be read. */
int sum_check(struct sheaf_reader *r);

#endif
