/* SPDX-License-Identifier: MIT
 *
 * A lane of a reader: its queue, and the shuffle buffer after it.
 *
 *     queue (queue.h) --> slots: [sample][number][sample] ... --drawn--> due: [ ][ ][ ] --> out
 *
 * If samples stay in memory until they are drawn, each slot has a sample, or its number if memory
 * has no room for it. The lane draws a few steps in advance. A number that was drawn is read at
 * once; if necessary, in memory that is reserved. So everything that fits into the reserve can be
 * read, even if slowly. Drawn samples are also fetched into the processor's cache. The first draws
 * of an epoch are read as numbers, so that they need not wait until the slots are filled. If
 * samples are read when they are drawn, there are no slots. */
#ifndef READER_LANE_H
#define READER_LANE_H

#include "reader/load/horizon.h"
#include "reader/load/queue.h"

#define LANE_DUE 32u            /* largest number of samples that are drawn in advance, over all
                                   lanes of a reader */

/* A sample that was drawn and not yet handed out. */
struct due {
    struct ref ref;
    uint64_t record;            /* if it is a number */
    uint32_t shard;
    bool repeats;
    struct shard *opened;       /* in use for it until there is a read */
};

struct lane {
    struct queue *queue;
    struct sequence sequence;
    struct shuffle shuffle;
    struct shuffle ahead;       /* the shuffle some draws later: tells which slots are needed
                                   soon */
    struct ref *slots;          /* NULL if the lane has none */
    uint64_t slot_count;
    uint64_t filled;            /* number of slots filled at the start of the lane */
    bool refill_due;            /* the slot that was emptied last waits for the next position */
    uint64_t refill_slot;
    struct due due[LANE_DUE];   /* a ring: */
    unsigned first, count;
    unsigned lead;              /* number of draws made in advance */
    unsigned numbers;           /* number of due samples for which no read was begun */
    bool has_ended;
    struct horizon horizon;
};

/* The range of samples that a lane reads. */
struct lane_course {
    uint32_t number;                /* number of the lane */
    const struct order *order;
    const struct order_line *line;  /* borrowed */
    struct order_lane range;
    bool is_ahead;                  /* the lane begins before its first turn */
};

/* Returns the course of a lane in an epoch of a data set that is not a view. */
struct lane_course lane_course_of(const struct loader *loader, uint32_t number);

/* Begins a lane after `steps` steps of its course (0: at its start). The queue is borrowed. */
int lane_begin(struct loader *loader, struct lane *lane, struct queue *queue,
               const struct lane_course *course, uint64_t steps, struct sheaf_error *err);
/* Frees everything that the lane has, including its queue. Its reads must have landed. */
void lane_clear(struct loader *loader, struct lane *lane);

/* Returns the next sample. Returns SHEAF_END if there are no more. May be called again after
 * SHEAF_ERR_INTERRUPTED, and after SHEAF_ERR_LIMIT once the caller has released its samples. */
int lane_next(struct loader *loader, struct lane *lane, struct ref *ref, struct sheaf_error *err);
/* Reads a record again that the lane has already returned. Results are those of lane_next. */
int lane_repeat(struct loader *loader, struct lane *lane, const struct order_run *record,
                struct ref *ref, struct sheaf_error *err);

/* Called for a lane whose first turn comes later. Puts a sample into its shuffle buffer if one has
 * landed. An error is ignored here, because it comes again at that turn. */
void lane_fill_ahead(struct loader *loader, struct lane *lane);
/* Begins to read the samples that are due as numbers. */
void lane_read_ahead(struct loader *loader, struct lane *lane);

/* Returns whether the next call is known to return SHEAF_END. */
static inline bool lane_has_ended(const struct lane *lane)
{
    return lane->has_ended;
}

/* Returns the memory of the lane's tables. */
uint64_t lane_table_bytes(const struct lane *lane);
/* Begins to foresee which samples are drawn soon. `most` of them may be in memory. */
int lane_foresee(struct lane *lane, uint64_t most, struct sheaf_error *err);

#endif
