/* SPDX-License-Identifier: MIT
 *
 * A lane of a reader: its queue, and the shuffle buffer behind it.
 *
 *     queue (queue.h) --> slots: [sample][number][sample] ... --drawn--> due: [ ][ ][ ] --> out
 *
 * Where samples are kept until they are drawn, each slot has one, or, if the memory has no room for
 * it, its number.  A few draws are made ahead: what is due as a number is read then, with memory
 * that is reserved if need be, so that whatever fits into that can be read, if slowly; and what is
 * due comes into the processor's cache.  The first draws of an epoch are due as numbers: they need
 * not wait for the slots to be filled.  Where samples are read as they are drawn, there are no
 * slots. */
#ifndef READER_LANE_H
#define READER_LANE_H

#include "reader/load/horizon.h"
#include "reader/load/queue.h"

#define LANE_DUE 32u            /* of all lanes of a reader, that are read ahead as numbers */

/* What is drawn, and not yet handed out. */
struct due {
    struct ref ref;
    uint64_t record;            /* of a number */
    uint32_t shard;
    bool repeats;
    struct shard *opened;       /* in use for it, until there is a read */
};

struct lane {
    struct queue *queue;
    struct sequence sequence;
    struct shuffle shuffle;
    struct shuffle ahead;       /* some draws later: advice which slots are needed next */
    struct ref *slots;          /* NULL: there are none */
    uint64_t slot_count;
    uint64_t filled;            /* positions that have filled slots, at the start */
    bool refill_due;            /* the slot emitted last waits for the next position */
    uint64_t refill_slot;
    struct due due[LANE_DUE];   /* a ring: */
    unsigned first, count;
    unsigned lead;              /* so many draws are made ahead */
    unsigned numbers;           /* of those that are due, no read was begun for */
    bool has_ended;
    struct horizon horizon;
};

/* What a lane takes in. */
struct lane_course {
    uint32_t number;                /* of the lane */
    const struct order *order;
    const struct order_line *line;  /* borrowed */
    struct order_lane range;
    bool is_ahead;                  /* it is set up before its first turn */
};

/* The course of a lane of an epoch, but of a view. */
struct lane_course lane_course_of(const struct loader *loader, uint32_t number);

/* Sets the lane up `steps` steps into its course (0: its start).  The queue is borrowed. */
int lane_begin(struct loader *loader, struct lane *lane, struct queue *queue,
               const struct lane_course *course, uint64_t steps, struct sheaf_error *err);
/* Gives up what it has; its reads have landed.  The queue is cleared with it. */
void lane_clear(struct loader *loader, struct lane *lane);

/* The next sample.  SHEAF_END: there are no more.  It may be called again after
 * SHEAF_ERR_INTERRUPTED, and after SHEAF_ERR_LIMIT once the caller has given up what it had. */
int lane_next(struct loader *loader, struct lane *lane, struct ref *ref, struct sheaf_error *err);
/* A record that the lane has given already, read once more.  As lane_next. */
int lane_repeat(struct loader *loader, struct lane *lane, const struct order_run *record,
                struct ref *ref, struct sheaf_error *err);

/* Of a lane whose first turn is later: takes a sample into its shuffle buffer, if one is there.
 * What fails then fails again at that turn. */
void lane_fill_ahead(struct loader *loader, struct lane *lane);
/* Begins to read what is due as a number. */
void lane_read_ahead(struct loader *loader, struct lane *lane);

/* Whether SHEAF_END is known to come next. */
static inline bool lane_has_ended(const struct lane *lane)
{
    return lane->has_ended;
}

/* What its tables take. */
uint64_t lane_table_bytes(const struct lane *lane);
/* Begins to see ahead which of its samples are drawn soon, `most` of which may be in memory. */
int lane_foresee(struct lane *lane, uint64_t most, struct sheaf_error *err);

#endif
