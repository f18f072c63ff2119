/* SPDX-License-Identifier: MIT
 *
 * The queue of a lane: the reads that bring the samples of its sequence, ahead of their turn.
 *
 *     sequence:  ... given out | [read][read]  number  [read] planned | not planned yet ...
 *
 * Reads are planned in the order in which their first sample will be needed, over all lanes, so
 * whatever the memory holds is always what is needed soonest, and no lane can starve another.
 * Where there is no memory for a sample, the queue gives out its number, and it is read when it is
 * drawn (lane.h).
 *
 * All of this runs on the caller's thread, which only runs queued jobs itself where they are not
 * waited for long; workers run the jobs. */
#ifndef READER_QUEUE_H
#define READER_QUEUE_H

#include "reader/load/loader.h"
#include "reader/order/sequence.h"

struct horizon;
struct stream;
struct warmth;

#define QUEUE_LATER 100         /* not here yet, and there was to be no waiting */

struct queue {
    struct sequence *sequence;      /* the lane's; NULL: there is no lane */
    const struct order_line *line;  /* that its places are on */
    const struct horizon *horizon;  /* which samples are wanted; NULL: all */
    double pace;                    /* positions a round, about: 1 but for the lanes of a view */
    uint64_t before;                /* positions of the lane's earlier stretches in the epoch */
    bool is_ahead;                  /* the first turn is later: another stretch is not used up */
    uint64_t planned;               /* positions in reads, or given up; >= taken */
    uint64_t taken;                 /* positions that were given out */
    struct read *first, *last;
    unsigned waiting;               /* of a stream: reads that are not all given out */
    struct stream *stream;          /* the data set is one: the lane's shards; else NULL */
    struct warmth *warmth;          /* samples are read as they are drawn; else NULL */
    struct shard *shard;            /* the planned place is in it */
    struct shard *next;             /* the one after it on the line; NULL: none, or not yet */
    struct shard *alone;            /* of the record that is to be read alone next; NULL: none */
};

/* Begins a lane's, of which `sequence` is set up later; the shuffle is at its start. */
int queue_begin(struct loader *loader, struct queue *queue, uint32_t lane,
                const struct order_line *line, struct sequence *sequence,
                struct sheaf_error *err);
/* Makes a stream end soon. */
void queue_cancel(struct queue *queue);
/* Ends it; its reads have landed. */
void queue_clear(struct loader *loader, struct queue *queue);

/* Begins as many reads as window and budget permit, for all lanes.  SHEAF_ERR_INTERRUPTED: a shard
 * was not opened in time, and it may be called again. */
int queue_pump(struct loader *loader, struct sheaf_error *err);

/* The next sample of the sequence, or its number.  SHEAF_END if there are no more (known only now
 * for a stream); QUEUE_LATER; SHEAF_ERR_INTERRUPTED, after which it may be called again.  Where
 * samples are kept for a while, one may be given out that is still under way, as its read is late
 * and others are here. */
int queue_take(struct loader *loader, struct queue *queue, bool waits, struct ref *ref,
               struct sheaf_error *err);

/* All that will come of it is planned. */
static inline bool queue_is_planned(const struct queue *q)
{
    return q->planned == q->sequence->count;
}

#endif
