/* SPDX-License-Identifier: MIT
 *
 * The memory of an epoch: what it needs, from the index and the manifest, and how the budget is
 * divided. */
#ifndef READER_MEMORY_H
#define READER_MEMORY_H

#include "reader/reader_state.h"

/* Whether samples are kept until they are drawn, or read as they are drawn: where they lie in files
 * of this machine's disks, are not packed, are so large that a read of their own is worth it, the
 * buffer reaches into so few shards that they can all be open, and that leaves enough memory. */
void memory_choose(struct sheaf_reader *r);

/* Opens the heap of samples: in the memory that the options give, unless something that was lent is
 * in it still. */
int memory_open_heap(struct sheaf_reader *r, bool memory_is_free, struct sheaf_error *err);

/* Shares the budget out for the epoch whose lanes have begun.  SHEAF_ERR_LIMIT, with what would be
 * enough, if it is too small. */
int memory_share_out(struct sheaf_reader *r);

#endif
