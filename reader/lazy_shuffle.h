/* SPDX-License-Identifier: MIT
 *
 * A lane's shuffle buffer of numbers: samples stay in their files until they are drawn.
 *
 *     line:    ... [ held: slots of the buffer ................ ][ next ][ warmed ahead ] ...
 *                      |  drawn
 *                      v
 *     due:     [run][run][run]  --> a chunk, which reads just these
 *
 * Where the kernel keeps what was read of a file, a buffer of samples would be a second copy of
 * the same bytes, written to memory that no cache has by then.  Since the order needs counts only,
 * the buffer can hold numbers, and each sample is read when its turn is near: once, into memory
 * that is used again at once.  The first sample needs no buffer to be filled, either.
 *
 * The file is still read from its start to its end: what the buffer is about to take in is brought
 * into the kernel's cache in large pieces, and the draws find it there.
 *
 * Of the planning thread, but for the warming jobs. */
#ifndef READER_LAZY_SHUFFLE_H
#define READER_LAZY_SHUFFLE_H

#include "reader/chunk.h"
#include "reader/shuffle.h"

#define DRAWS_DUE  64u      /* that are drawn at once, at most */
#define DRAWS_WARM 4u       /* warming jobs of a lane */

#define WARM_RANGES 32u     /* of one job: where samples were chosen, others lie between them */

/* Brings some of a file into the kernel's cache. */
struct warming {
    struct job job;
    struct shard *shard;            /* used by it; NULL: the job was never started, or is over */
    struct { uint64_t offset, bytes; } ranges[WARM_RANGES];
    unsigned range_count;
    uint64_t bytes;
};

struct draws {
    struct shards *shards;
    const struct order_line *line;
    const struct order_lane *range;
    struct shuffle shuffle;
    uint64_t *held;                 /* the input in each slot */
    uint64_t entered;               /* slots whose shard is in use for them */
    struct run due[DRAWS_DUE];      /* drawn, of one record each, their shards in use */
    size_t due_first, due_count;
    uint64_t drawn;                 /* in all; */
    struct {                        /* which of these come once more: a queue, ascending */
        uint64_t *list;
        size_t first, end, capacity;
    } repeats;
    struct warming warming[DRAWS_WARM];
    struct shard *warm_shard;       /* the one that is warmed, in use for that; NULL: not yet */
    uint64_t warmed;                /* inputs before this were warmed, or will be soon */
    uint64_t ahead;                 /* inputs that are warmed before the buffer takes them in */
};

/* Whether samples are read as they are drawn: they lie in files of this machine's disks, are not
 * packed, are so large that a read of their own is worth it, and the buffer reaches into so few
 * shards that they can all be open. */
bool draws_are_possible(const struct sheaf_dataset *dataset, const struct order *order,
                        uint32_t lanes);

/* How many shards so many lanes may have open; what their tables take. */
uint64_t draws_shards(const struct sheaf_dataset *dataset, const struct order *order,
                      uint32_t lanes);
uint64_t draws_bytes(const struct sheaf_dataset *dataset, const struct order *order,
                     uint32_t lanes);

/* `shuffle` is at the epoch's start, and is replayed `steps` steps.  `shards`, `line` and `range`
 * are borrowed. */
int draws_open(struct draws **draws, struct shards *shards, const struct order_line *line,
               const struct order_lane *range, const struct shuffle *shuffle,
               uint64_t steps, struct sheaf_error *err);

/* Sees to it that a record is due, unless all have been.  It fails where a shard's index does not
 * fit into the budget, and may be called again. */
int draws_fill(struct draws *draws, struct sheaf_error *err);

/* The first `count` due have gone into a chunk, and their uses of shards with them. */
void draws_took(struct draws *draws, size_t count);

/* Whether draw number `number` is a sample that comes once more; asked in ascending order. */
bool draws_repeats(struct draws *draws, uint64_t number);

/* Begins to warm what the buffer takes in next, as far as it is time for it.  Returns a job that
 * further draws had better wait for, as what they draw from is not warm: else a disk would be read
 * here and there, while it is read from start to end.  NULL: they need not wait. */
struct job *draws_warm(struct draws *draws, struct workers *workers);

/* Waits for the warming; drops all shards.  NULL is fine. */
void draws_close(struct draws *draws);

#endif
