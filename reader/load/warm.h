/* SPDX-License-Identifier: MIT
 *
 * A lane whose samples stay in their files until they are drawn.
 *
 *     line:    ... [ held: numbers in the shuffle buffer ......... ][ next ][ warmed ahead ] ...
 *                      |  drawn
 *                      v
 *     due:     [run][run][run]  --> a read, which brings just these
 *
 * Where the kernel keeps what was read of a file, a buffer of samples would be a second copy of
 * the same bytes, written to memory that no cache has by then.  So each is read when its turn is
 * near: once, into memory that is used again at once.  The first sample needs no buffer to be
 * filled, either.
 *
 * The file is still read from its start to its end: what the buffer is about to take in is brought
 * into the kernel's cache in large pieces, and the draws find it there.
 *
 * Of the planning thread, but for the warming jobs. */
#ifndef READER_WARM_H
#define READER_WARM_H

#include "reader/load/loader.h"
#include "reader/order/sequence.h"

struct warmth;

/* Everything is borrowed; the sequence is set up by warmth_begin. */
int warmth_open(struct warmth **warmth, struct loader *loader, const struct order_line *line,
                struct sequence *sequence, struct sheaf_error *err);
void warmth_begin(struct warmth *warmth);
/* Waits for the warming; drops all shards.  NULL is fine. */
void warmth_close(struct warmth *warmth);

/* Begins to warm what the buffer takes in next, as far as it is time for it.  Returns a job that
 * further draws had better wait for, as what they draw from is not warm: else a disk would be read
 * here and there, while it is read from start to end.  NULL: they need not wait. */
struct job *warmth_go_on(struct warmth *warmth, struct loader *loader);

/* Sees to it that a record is due: that of `position`, and those behind it.  It fails where the
 * index of a shard does not fit into the budget, and may be called again. */
int warmth_draw(struct warmth *warmth, struct loader *loader, uint64_t position,
                struct sheaf_error *err);
/* The first one that is due; the plan gets its runs. */
const struct run *warmth_due(struct warmth *warmth, struct read_plan *plan);
/* Leaves the plan as many of them as make one read of so many bytes, and are open. */
void warmth_cut(const struct warmth *warmth, struct loader *loader, uint64_t bytes,
                struct read_plan *plan);
/* The first `count` have gone into a read, and their uses of shards with them. */
void warmth_took(struct warmth *warmth, size_t count);
/* The first one is read elsewhere, if it was due. */
void warmth_pass(struct warmth *warmth, struct loader *loader);

#endif
