/* SPDX-License-Identifier: MIT
 *
 * Divides the memory budget of a reader for an epoch. How much memory is needed is computed from
 * the index and the manifest. */
#ifndef READER_MEMORY_H
#define READER_MEMORY_H

#include "reader/reader_state.h"

/* Decides whether samples wait in memory until they are drawn, or are read only when they are
 * drawn. They are read when they are drawn if all of the following is true:
 * - The shards are files on a local disk.
 * - The shards are not compressed.
 * - The samples are so large that reading each of them alone is worth it.
 * - All shards with samples in the shuffle buffer can be open at the same time, and leave enough
 *   memory. */
void memory_choose(struct sheaf_reader *r);

/* Opens the heap for samples. If the program has provided memory in the options, and
 * `memory_is_free` is true, the heap uses this memory. `memory_is_free` is false while the program
 * still uses samples in it. The heap then allocates other memory. */
int memory_open_heap(struct sheaf_reader *r, bool memory_is_free, struct sheaf_error *err);

/* Divides the memory budget for an epoch. The lanes (sequences of samples) of the epoch must have
 * begun. Returns SHEAF_ERR_LIMIT if the budget is too small. The message says how much is
 * needed. */
int memory_share_out(struct sheaf_reader *r);

#endif
