/* SPDX-License-Identifier: MIT
 *
 * A lane of a reader: its queue of reads (queue.h), its shuffle buffer, and a short list of drawn
 * samples.
 *
 * Samples come from the queue into the slots of the shuffle buffer. If memory has no room for a
 * sample, its slot has only the sample's number. Samples are drawn a few steps before they are
 * returned. Drawn samples wait in the list `due`, and are loaded into the CPU's cache. If a slot
 * had only a number, the sample is read when it is drawn; if necessary, into the reserve, which is
 * memory for reading one sample. So every sample that fits into the reserve can be read, even if
 * slowly.
 *
 * The first samples of an epoch are drawn as numbers and read one by one, so that they need not
 * wait until the shuffle buffer is full. If samples are read only when they are drawn, there are no
 * slots. */
#ifndef READER_LANE_H
#define READER_LANE_H

#include "reader/load/horizon.h"
#include "reader/load/queue.h"

/* largest number of samples that all lanes of a reader together draw in advance */
#define LANE_DUE 32u

/* A sample that the lane has drawn but not returned yet. */
struct due {
    struct ref ref;
    uint64_t record;            /* if it is a number */
    uint32_t shard;
    bool repeats;
    struct shard *opened;       /* in use for it until there is a read */
};

struct lane {
    struct queue *queue;
    const struct order_line *line;  /* borrowed */
    struct sequence sequence;
    struct shuffle shuffle;
    /* state of the shuffle some draws later; it tells which slots of the shuffle buffer will be
     * needed soon */
    struct shuffle ahead;
    struct ref *slots;          /* NULL if the lane has none */
    uint64_t slot_count;
    /* number of slots of the shuffle buffer that have been filled since the start of the lane */
    uint64_t filled;
    /* whether the slot of the shuffle buffer that was emptied last must still be filled with the
     * next sample of the sequence */
    bool refill_due;
    uint64_t refill_slot;
    struct due due[LANE_DUE];   /* a ring: */
    unsigned first, count;
    /* number of drawn samples that are not in memory, and for which no read has been begun yet */
    unsigned numbers;
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

/* Returns the range of samples for a lane in an epoch of a data set that is not a view. */
struct lane_course lane_course_of(const struct loader *loader, uint32_t number);

/* Begins a lane. If `steps` is not 0, the lane begins after its first `steps` draws, as when an
 * epoch is resumed. The queue is borrowed. */
int lane_begin(struct loader *loader, struct lane *lane, struct queue *queue,
               const struct lane_course *course, uint64_t steps, struct sheaf_error *err);
/* Frees everything that the lane owns, and clears its queue, which it has borrowed. All reads of
 * the queue must have finished. */
void lane_clear(struct loader *loader, struct lane *lane);

/* Returns the lane's next sample, or SHEAF_END if there are no more. May be called again after
 * SHEAF_ERR_INTERRUPTED. May also be called again after SHEAF_ERR_LIMIT, once the caller has
 * released its samples. */
int lane_next(struct loader *loader, struct lane *lane, struct ref *ref, struct sheaf_error *err);
/* Reads once more a record that the lane has already returned. The results are those of
 * lane_next. */
int lane_repeat(struct loader *loader, struct lane *lane, const struct order_run *record,
                struct ref *ref, struct sheaf_error *err);

/* Called for a lane of a view that begins to read before its first sample is needed. If a read has
 * finished, puts one of its samples into the lane's shuffle buffer. Errors are ignored here,
 * because they occur again when the sample is needed. */
void lane_fill_ahead(struct loader *loader, struct lane *lane);
/* Begins to read the samples that were drawn from the shuffle buffer but are not in memory. */
void lane_read_ahead(struct loader *loader, struct lane *lane);
/* Does the same, but first waits until the shard of the lane's next sample is open, if
 * lane_read_ahead has begun to open this shard. */
void lane_read_early(struct loader *loader, struct lane *lane);

/* Returns whether the lane is known to have ended. The next call of lane_next then returns
 * SHEAF_END. */
static inline bool lane_has_ended(const struct lane *lane)
{
    return lane->has_ended;
}

/* Returns the memory of the lane's tables. */
uint64_t lane_table_bytes(const struct lane *lane);
/* Begins to compute in advance which samples will be drawn soon. At most `most` of them may be in
 * memory. */
int lane_foresee(struct lane *lane, uint64_t most, struct sheaf_error *err);

#endif
