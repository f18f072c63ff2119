/* SPDX-License-Identifier: MIT
 *
 * The queue of a lane: the reads that bring the samples of its sequence into memory ahead of their
 * turn.
 *
 *     sequence:  ... given out | [read][read]  number  [read] planned | not planned yet ...
 *
 * Reads are planned in the order in which their first sample will be needed, over all lanes. So
 * memory always holds the samples that are needed soonest, and no lane can starve another. If there
 * is no memory for a sample, the queue returns its number, and the sample is read when it is drawn
 * (lane.h).
 *
 * All functions run on the caller's thread. Workers run the jobs. While it waits for local files,
 * the caller's thread runs queued jobs as well, because such waits are short. */
#ifndef READER_QUEUE_H
#define READER_QUEUE_H

#include "reader/load/loader.h"
#include "reader/order/sequence.h"

struct horizon;
struct stream;
struct warmth;

#define QUEUE_LATER 100         /* result of queue_take if the sample is not here yet and the
                                   call was not to wait */

struct queue {
    struct sequence *sequence;      /* the lane's sequence; NULL if there is no lane */
    const struct order_line *line;  /* the line that has its places */
    const struct horizon *horizon;  /* tells which samples are wanted; NULL: all */
    double pace;                    /* approximate number of positions in a round: 1, except for
                                       lanes of a view */
    uint64_t before;                /* number of positions of the lane's earlier stretches in
                                       this epoch */
    bool is_ahead;                  /* whether the lane's first turn comes later, when another
                                       stretch has been used up */
    uint64_t planned;               /* number of positions that are in reads, or were left to be
                                       read when drawn; at least `taken` */
    uint64_t taken;                 /* number of positions that were returned */
    struct read *first, *last;
    unsigned waiting;               /* for a stream: number of reads that still have samples */
    struct stream *stream;          /* the shards of the lane if the data set is a stream; else
                                       NULL */
    struct warmth *warmth;          /* reads samples when they are drawn; NULL if samples are
                                       read in the order of the line */
    struct shard *shard;            /* the shard of the planned position */
    struct shard *next;             /* the next shard on the line; NULL if there is none, or it
                                       is not open yet */
    struct shard *alone;            /* the shard of the record that is read alone next; or NULL */
};

/* Begins the queue of a lane. `sequence` is set up later. The shuffle must be at its start. */
int queue_begin(struct loader *loader, struct queue *queue, uint32_t lane,
                const struct order_line *line, struct sequence *sequence,
                struct sheaf_error *err);
/* Makes a stream end soon. */
void queue_cancel(struct queue *queue);
/* Ends the queue. Its reads must have landed. */
void queue_clear(struct loader *loader, struct queue *queue);

/* Begins reads for all lanes until the window or the budget is used up. Returns
 * SHEAF_ERR_INTERRUPTED if a shard was not opened in time; the call may then be repeated. */
int queue_pump(struct loader *loader, struct sheaf_error *err);

/* Returns the next sample of the sequence, or its number. Returns SHEAF_END if there are no more (a
 * stream's end is known only now), QUEUE_LATER if the sample is not here and `waits` is false, or
 * SHEAF_ERR_INTERRUPTED, after which the call may be repeated. For a shuffle buffer, it may return
 * a sample whose read is late and still under way, if later reads have landed. */
int queue_take(struct loader *loader, struct queue *queue, bool waits, struct ref *ref,
               struct sheaf_error *err);

/* Returns whether all positions of the sequence are planned. */
static inline bool queue_is_planned(const struct queue *q)
{
    return q->planned == q->sequence->count;
}

#endif
