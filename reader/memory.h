/* SPDX-License-Identifier: MIT
 *
 * The memory of an epoch: computes from the index and the manifest how much is needed, and divides
 * the budget. */
#ifndef READER_MEMORY_H
#define READER_MEMORY_H

#include "reader/reader_state.h"

/* Decides whether samples are kept in memory until they are drawn, or read when they are drawn.
 * They are read when drawn if all of the following is true: the shards are files on this machine's
 * disks; they are not compressed; samples are large enough for a read of their own; all shards of
 * the shuffle buffer can be open at the same time and leave enough memory. */
void memory_choose(struct sheaf_reader *r);

/* Opens the heap for samples. Uses the memory that the options give for it, unless `memory_is_free`
 * is false because samples that were lent to the program are still in it. */
int memory_open_heap(struct sheaf_reader *r, bool memory_is_free, struct sheaf_error *err);

/* Divides the budget for an epoch whose lanes have begun. Returns SHEAF_ERR_LIMIT if the budget is
 * too small; the message says which size would be enough. */
int memory_share_out(struct sheaf_reader *r);

#endif
