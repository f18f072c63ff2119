/* SPDX-License-Identifier: MIT
 *
 * A lane whose samples stay in their files until they are drawn.
 *
 *     line:    ... [ held: numbers in the shuffle buffer ......... ][ next ][ warmed ahead ] ...
 *                      |  drawn
 *                      v
 *     due:     [run][run][run]  --> a read, which brings just these
 *
 * The kernel caches what was read from a file. A buffer of samples would be a second copy of the
 * same bytes, in memory that is no longer in the processor's cache when it is used. So each sample
 * is read shortly before its turn, once, into memory that is used again at once. Also, the first
 * sample need not wait until a buffer is filled.
 *
 * The file is nevertheless read from start to end: the samples that enter the buffer next are read
 * into the kernel's cache in large pieces, and the draws find them there.
 *
 * Used only on the planning thread, except by the warming jobs. */
#ifndef READER_WARM_H
#define READER_WARM_H

#include "reader/load/loader.h"
#include "reader/order/sequence.h"

struct warmth;

/* All pointers are borrowed. The sequence must be set up before warmth_begin. */
int warmth_open(struct warmth **warmth, struct loader *loader, const struct order_line *line,
                struct sequence *sequence, struct sheaf_error *err);
void warmth_begin(struct warmth *warmth);
/* Waits for the warming jobs, and drops all shards. NULL is allowed. */
void warmth_close(struct warmth *warmth);

/* Starts warming jobs for the samples that enter the buffer next, as far as they are due. Returns a
 * job for which further draws should wait, because the samples that they draw are not warm.
 * Otherwise a disk would be read at random places while it is being read from start to end. Returns
 * NULL if draws need not wait. */
struct job *warmth_go_on(struct warmth *warmth, struct loader *loader);

/* Makes the record of `position` due, and the records after it. Fails if the index section of a
 * shard does not fit into the budget; the call may then be repeated. */
int warmth_draw(struct warmth *warmth, struct loader *loader, uint64_t position,
                struct sheaf_error *err);
/* Returns the first due record. The plan receives the due records as its runs. */
const struct run *warmth_due(struct warmth *warmth, struct read_plan *plan);
/* Shortens the plan to the records that make one read of `bytes` bytes and whose shards are
 * open. */
void warmth_cut(const struct warmth *warmth, struct loader *loader, uint64_t bytes,
                struct read_plan *plan);
/* Removes the first `count` records, which a read has taken together with their uses of shards. */
void warmth_took(struct warmth *warmth, size_t count);
/* Removes the first record if it was due, because it is read elsewhere. */
void warmth_pass(struct warmth *warmth, struct loader *loader);

#endif
