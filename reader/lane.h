/* SPDX-License-Identifier: MIT
 *
 * A lane of a reader, which owns its shuffle buffer.
 *
 *     prefetch (prefetch.h) --take--> slots (shuffle buffer) --emit--> the reader
 *
 * What it takes in, and in which order, follows from its shuffle (intakes.h).  Where samples are
 * read as they are drawn (lazy_shuffle.h), it has one slot.  A sample for which the memory has no
 * room waits in its slot as a number, and is read when it is drawn (deferred.h). */
#ifndef READER_LANE_H
#define READER_LANE_H

#include "reader/deferred.h"
#include "reader/prefetch.h"
#include "reader/resident.h"

#define LANE_AHEAD 8u

/* The slots of the next draws, so that what is in them is in the cache in time. */
struct ahead {
    struct shuffle shuffle;     /* after these draws */
    uint64_t slots[LANE_AHEAD];
    unsigned first, count;
};

struct lane {
    struct prefetch *prefetch;
    struct intakes intakes;
    struct shuffle shuffle;
    struct ahead ahead;
    uint64_t early_left;        /* early intakes to be emitted */
    uint64_t fill_left;         /* slots to be filled at the start */
    struct item *slots;
    uint64_t slot_count;
    bool refill_due;            /* the slot emitted last waits for the next intake */
    uint64_t refill_slot;
    struct item pending;        /* deferred: its turn has come, but it is not read yet */
    struct resident resident;   /* which items in slots are */
    struct recalls recalls;     /* those of them that are drawn soon */
    unsigned foreseen;          /* draws until it is time to look ahead again */
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
struct lane_course lane_course_of(const struct feed *feed, uint32_t number);

/* Sets the lane up `steps` steps into its course (0: its start).  `prefetch` is borrowed. */
int lane_begin(struct feed *feed, struct lane *lane, struct prefetch *prefetch,
               const struct lane_course *course, uint64_t steps, struct sheaf_error *err);
/* Makes remote reads of deferred samples end soon. */
void lane_cancel(struct lane *lane);
/* Frees the slots, after the prefetch was cleared. */
void lane_clear(struct feed *feed, struct lane *lane);

/* The next item.  SHEAF_END: there are no more.  It may be called again after
 * SHEAF_ERR_INTERRUPTED, and after SHEAF_ERR_LIMIT once the caller has given up what it had. */
int lane_next(struct feed *feed, struct lane *lane, struct item *item, struct sheaf_error *err);

/* A record that the lane has given already, read once more.  As lane_next. */
int lane_repeat(struct feed *feed, struct lane *lane, const struct order_run *record,
                struct item *item, struct sheaf_error *err);

/* Of a lane whose first turn is later: takes an item into its shuffle buffer, if one is there.
 * What fails then fails again at that turn. */
void lane_fill_ahead(struct feed *feed, struct lane *lane);

/* Whether SHEAF_END is known to come next. */
bool lane_has_ended(const struct lane *lane);

/* What the tables of its slots take. */
uint64_t lane_table_bytes(const struct lane *lane);
/* Begins to see ahead which of its samples are drawn soon. */
int lane_foresee(struct lane *lane, struct sheaf_error *err);

#endif
