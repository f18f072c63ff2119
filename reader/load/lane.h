/* SPDX-License-Identifier: MIT
 *
 * A lane is one of the equal sequences into which an epoch is divided. Its samples come from a
 * queue of reads (queue.h). They are put into the slots of a shuffle buffer, and are drawn from
 * there at random.
 *
 * A sample is drawn a few steps before it is returned. Meanwhile it is in the list `due`, and its
 * memory is loaded into the CPU's cache.
 *
 * If memory has no room for a sample, its slot has only the number of the sample. The sample is
 * then read when it is drawn. A reserve of memory makes sure that one sample can always be read.
 *
 * The first samples of an epoch are returned before the shuffle buffer is full. Their numbers are
 * drawn in advance, and each of these samples is read alone. */
#ifndef READER_LANE_H
#define READER_LANE_H

#include "reader/load/horizon.h"
#include "reader/load/queue.h"

/* Largest number of samples that are drawn but not yet returned, in all lanes of a reader together.
 * (A lane is a sequence of samples.) */
#define LANE_DUE 32u

/* A sample that the lane (a sequence of samples) has drawn, but not yet returned to the caller. */
struct due {
    struct ref ref;
    /* If the sample is not in memory: its record, and the number of its shard. `run.shard` is NULL
     * if the shard was not opened for this sample yet, or if its read has begun. */
    struct run run;
    uint32_t shard;
};

struct lane {
    struct queue *queue;
    const struct order_line *line;  /* The lane does not free the line. */
    struct sequence sequence;
    struct shuffle shuffle;
    /* A copy of the shuffle that is some draws ahead. It shows which slots of the shuffle buffer
     * will be used soon. */
    struct shuffle ahead;
    /* slots of the shuffle buffer; NULL if no samples wait in the buffer, because samples are not
     * shuffled, or because each sample is read only when it is drawn */
    struct ref *slots;
    uint64_t slot_count;
    /* number of slots of the shuffle buffer that have been filled while the lane (a sequence of
     * samples) starts; drawing begins when all are filled */
    uint64_t filled;
    /* True if no sample has yet been put into the slot `refill_slot` of the shuffle buffer, from
     * which the last sample was drawn. Before the next draw, the next sample of the sequence must
     * be put there. */
    bool refill_due;
    uint64_t refill_slot;
    /* The drawn samples, in a ring that begins at `first`. The ring has at least loader->lead
     * elements. Their number is a power of two, and due_mask is this number minus 1. */
    struct due *due;
    unsigned due_mask;
    unsigned first, count;
    /* number of drawn samples that are not in memory, and that are not being read yet */
    unsigned numbers;
    struct horizon horizon;
};

/* The range of samples that a lane reads. */
struct lane_course {
    uint32_t number;                /* number of the lane */
    const struct order *order;
    const struct order_line *line;  /* The lane does not free the line. */
    struct order_lane range;
    bool is_ahead;                  /* true if the lane begins before its first turn */
};

/* Returns the range of samples that lane number `number` (a sequence of samples) reads in an epoch.
 * The data set must not be a view (a mix of data sets). */
struct lane_course lane_course_of(const struct loader *loader, uint32_t number);

/* Begins a lane (a sequence of samples) after its first `steps` draws. `steps` is not 0 if an epoch
 * is resumed. The lane uses `queue`, but does not own it. */
int lane_begin(struct loader *loader, struct lane *lane, struct queue *queue,
               const struct lane_course *course, uint64_t steps, struct sheaf_error *err);
/* Frees everything that the lane (a sequence of samples) owns, and ends its queue. All reads of the
 * queue must have finished. */
void lane_clear(struct loader *loader, struct lane *lane);

/* Returns the next sample of the lane (a sequence of samples), or SHEAF_END if there are no more
 * samples. The caller may repeat the call after SHEAF_ERR_INTERRUPTED. After SHEAF_ERR_LIMIT, the
 * caller may release its samples and then repeat the call. */
int lane_next(struct loader *loader, struct lane *lane, struct ref *ref, struct sheaf_error *err);
/* Reads again a record that the lane (a sequence of samples) has already returned. Returns the same
 * codes as lane_next. */
int lane_repeat(struct loader *loader, struct lane *lane, const struct order_run *record,
                struct ref *ref, struct sheaf_error *err);

/* Returns true if it is known that the lane (a sequence of samples) has ended, so that lane_next
 * will return SHEAF_END. Returns false if the lane reads a stream whose end was not found yet. */
bool lane_has_ended(const struct lane *lane);

/* Puts one sample into the shuffle buffer of the lane (a sequence of samples) if its read has
 * finished. Used in a view (a mix of data sets), for a lane that reads in advance. Errors are
 * ignored here. The same error occurs again when the sample is needed. */
void lane_fill_ahead(struct loader *loader, struct lane *lane);
/* Begins to read samples that were drawn from the shuffle buffer as numbers, because they were not
 * in memory. If `waits` is true and the shard of the next sample is being opened, first waits until
 * the shard is open. */
void lane_read_ahead(struct loader *loader, struct lane *lane, bool waits);

/* Returns the memory in bytes for the tables of the lane (a sequence of samples) and of its queue,
 * if the shuffle buffer has at most `slots` slots. The result includes a struct read, because a
 * read that has finished stays in the queue until its samples are taken. The struct lane and the
 * struct queue are not included. */
uint64_t lane_table_bytes(const struct loader *loader, const struct lane *lane, uint64_t slots);
/* Begins to compute which samples the lane (a sequence of samples) will draw soon. At most `most`
 * samples of its shuffle buffer may be in memory. */
int lane_foresee(struct lane *lane, uint64_t most, struct sheaf_error *err);

#endif
