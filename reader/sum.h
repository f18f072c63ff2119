/* SPDX-License-Identifier: MIT
 *
 * The sum of an epoch; see sum.c. Each sample of the epoch must be returned or counted as bad. The
 * functions count both, and compare the sum with the number of samples that the epoch should
 * have. */
#ifndef READER_SUM_H
#define READER_SUM_H

#include "reader/reader_state.h"

/* Starts to count the samples of an epoch. The epoch's lanes must have been begun. */
void sum_begin(struct sheaf_reader *r, uint64_t rounds, uint64_t extra);

/* Returns whether a sample was taken from a lane, but neither returned to the caller nor counted as
 * bad or as left out. The reader then cannot continue after an error. */
bool sum_is_open(const struct sheaf_reader *r);

/* Called if a stream ends before the position at which it should resume. Returns SHEAF_OK if other
 * ranks or workers may have longer lanes; otherwise this is an error. */
int sum_check_start(struct sheaf_reader *r);

/* Checks the sum at the end of the epoch. Returns SHEAF_END if it is right, SHEAF_ERR_MISMATCH if
 * it is wrong, and SHEAF_ERR_CORRUPT if no sample could be read. */
int sum_check(struct sheaf_reader *r);

#endif
