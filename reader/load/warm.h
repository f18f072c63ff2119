/* SPDX-License-Identifier: MIT
 *
 * A lane whose samples stay in their files until they are drawn from the shuffle buffer.
 *
 *     line:    ... [ held: numbers in the shuffle buffer ......... ][ next ][ warmed ahead ] ...
 *                      |  drawn
 *                      v
 *     due:     [run][run][run]  --> a read, which brings just these
 *
 * The kernel caches everything that is read from a file. A shuffle buffer with whole samples would
 * be a second copy of the same bytes, in memory that would no longer be in the CPU's cache when it
 * is used. So the shuffle buffer holds only the numbers of samples. Each sample is read once,
 * shortly before it is returned, into memory that is soon used again. As a further advantage, the
 * first sample need not wait until a buffer is filled.
 *
 * The files are nevertheless read from start to end: the samples that will enter the buffer next
 * are warmed (read into the kernel's cache in large pieces), where the later reads find them.
 *
 * Used only on the planning thread, except by the warming jobs. */
#ifndef READER_WARM_H
#define READER_WARM_H

#include "reader/load/loader.h"
#include "reader/order/sequence.h"

struct warmth;

/* Opens the warming of a lane's files. All pointers are borrowed. The sequence must be set up
 * before warmth_begin is called. */
int warmth_open(struct warmth **warmth, struct loader *loader, const struct order_line *line,
                struct sequence *sequence, struct sheaf_error *err);
void warmth_begin(struct warmth *warmth);
/* Waits for the warming jobs, and gives up the references to all shards. NULL is allowed. */
void warmth_close(struct warmth *warmth);

/* Starts warming jobs, which read the samples that enter the buffer next into the kernel's cache.
 * Returns a job for which further draws should wait, because the samples that they draw are not in
 * the cache yet. Without this wait, a disk would be read at random positions while it is read from
 * start to end. Returns NULL if draws need not wait. */
struct job *warmth_go_on(struct warmth *warmth, struct loader *loader);

/* Makes the record at `position` of the sequence due (to be read next), and the consecutive records
 * after it. Fails if the index section of a shard does not fit into the budget; the call may then
 * be repeated. */
int warmth_draw(struct warmth *warmth, struct loader *loader, uint64_t position,
                struct sheaf_error *err);
/* Returns the first record that is due. Sets the runs of the plan to all records that are due. */
const struct run *warmth_due(struct warmth *warmth, struct read_plan *plan);
/* Shortens the plan to the records that fit into one read of `bytes` bytes and whose shards are
 * open. */
void warmth_cut(const struct warmth *warmth, struct loader *loader, uint64_t bytes,
                struct read_plan *plan);
/* Removes the first `count` due records. A read has taken them, together with their references to
 * shards. */
void warmth_took(struct warmth *warmth, size_t count);
/* Called when the sample at the next position is read without this struct. Removes its record from
 * the records that are due, if it is the first of them. */
void warmth_pass(struct warmth *warmth, struct loader *loader);

#endif
