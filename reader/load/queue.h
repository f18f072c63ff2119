/* SPDX-License-Identifier: MIT
 *
 * The queue of a lane: the reads that bring the samples of the lane's sequence into memory before
 * they are needed. At each moment, the first positions of the sequence have been returned. The next
 * positions have been planned: there is a read for each of them, or there was no memory for a read.
 * The positions after them are not planned yet.
 *
 * Reads are planned in the order in which their first sample will be needed, over all lanes. So
 * memory always holds the samples that are needed soonest, and a lane cannot use up the memory that
 * another lane needs. If there was no memory for a sample, the queue returns only the sample's
 * number, and the sample is read when it is drawn (lane.h).
 *
 * All functions run on the caller's thread. Worker threads run the jobs. While the caller's thread
 * waits for local files, it runs queued jobs as well, because such waits are short. */
#ifndef READER_QUEUE_H
#define READER_QUEUE_H

#include "reader/load/loader.h"
#include "reader/order/sequence.h"

struct horizon;
struct stream;
struct warmth;

/* result of queue_take if the sample is not in memory yet and the call was not allowed to wait */
#define QUEUE_LATER      100
/* result of queue_ops.plan if memory has no room for the index section of a shard now */
#define QUEUE_NO_SECTION 101

struct queue {
    struct sequence *sequence;      /* the lane's sequence; NULL if there is no lane */
    const struct order_line *line;  /* the line that has its places */
    const struct horizon *horizon;  /* tells which samples are wanted; NULL: all */
    /* Approximate number of samples that are taken from this queue in one round, in which each lane
     * of the reader returns one sample. It is 1, except in a view. There, a lane takes its samples
     * from several queues, one for each source. */
    double pace;
    /* in a view: number of samples in the ranges that the lane has read from the same source
     * earlier in this epoch, before the present range */
    uint64_t before;
    /* in a view: whether this queue reads a source's next range of samples ahead, while the lane
     * still draws from the source's present range */
    bool is_ahead;
    /* number of positions that were planned so far, which includes the returned ones: a read was
     * begun for them, or they will be read when they are drawn */
    uint64_t planned;
    uint64_t taken;                 /* number of positions that were returned */
    struct read *first, *last;
    /* for a stream: number of reads in the queue that still have samples */
    unsigned waiting;
    /* the shards of the lane if the data set is a stream; otherwise NULL */
    struct stream *stream;
    /* if samples are read when they are drawn: brings their files into the kernel's cache before;
     * otherwise NULL */
    struct warmth *warmth;
    struct shard *shard;            /* the shard of the planned position */
    /* the shard that the lane reads next; NULL if there is none, or if it is not open yet */
    struct shard *next;
    /* the shard of the next record if this record is to be read alone, by a read for just one
     * record; otherwise NULL */
    struct shard *alone;
};

/* Begins the queue of a lane. */
int queue_begin(struct loader *loader, struct queue *queue, uint32_t lane,
                const struct order_line *line, struct sequence *sequence,
                struct sheaf_error *err);
/* Ends the queue. Its reads must have finished. */
void queue_clear(struct loader *loader, struct queue *queue);

/* The functions of one kind of queue. All queues of a loader are of the same kind, which is
 * loader->queue_ops. */
struct queue_ops {
    /* Makes the parts of a queue that only this kind of queue has. The pointer `begin` is NULL if
     * there are none. */
    int (*begin)(struct loader *loader, struct queue *queue, uint32_t lane,
                 struct sheaf_error *err);
    /* Plans the queue's next read. Returns QUEUE_NO_SECTION if memory has no room now for the index
     * section of the read's shard, and SHEAF_END if there is no memory for the read itself. The
     * pointer `plan` is NULL if the function `pump` below plans the reads. */
    int (*plan)(struct loader *loader, struct queue *queue, struct sheaf_error *err);
    /* Called when the sample at the next position is read without a call of `plan`. The pointer
     * `pass` is NULL if nothing must be done. */
    void (*pass)(struct loader *loader, struct queue *queue);
    int (*pump)(struct loader *loader, struct sheaf_error *err);        /* queue_pump */
    int (*take)(struct loader *loader, struct queue *queue, bool waits, struct ref *ref,
                struct sheaf_error *err);                               /* queue_take */
    void (*cancel)(struct queue *queue);        /* queue_cancel; NULL: nothing runs on its own */
    void (*end)(struct queue *queue);           /* frees what `begin` made; NULL: nothing */
};
/* The queue of a lane that reads its samples in the order of the shards. The index shows which
 * bytes each read needs. (queue.c) */
extern const struct queue_ops queue_in_order;
/* The queue of a lane whose samples stay in their files until they are drawn from the shuffle
 * buffer. (warm.c) */
extern const struct queue_ops queue_as_drawn;
/* The queue of a stream, whose sequence of samples becomes known only as the samples arrive.
 * (queue_stream.c) */
extern const struct queue_ops queue_streamed;

/* Makes a stream end soon. */
static inline void queue_cancel(const struct loader *loader, struct queue *queue)
{
    if (loader->queue_ops->cancel != NULL)
        loader->queue_ops->cancel(queue);
}

/* Begins reads for all lanes until the window of outstanding reads, or the budget, is used up.
 * Returns SHEAF_ERR_INTERRUPTED if the caller interrupted the wait for a shard; the call may then
 * be repeated. */
static inline int queue_pump(struct loader *loader, struct sheaf_error *err)
{
    return loader->queue_ops->pump(loader, err);
}

/* Returns the next sample of the sequence, or its number. Returns SHEAF_END if there are no more
 * samples; for a stream, this is not known before the call. Returns QUEUE_LATER if the sample is
 * not in memory and `waits` is false. After SHEAF_ERR_INTERRUPTED, the call may be repeated.
 *
 * A remote read is late if it still runs although a later read has finished. If the sample goes to
 * a shuffle buffer, the function does not wait for a late read. It then returns a reference to a
 * sample that is still being read. Whoever draws the sample waits for the read. */
static inline int queue_take(struct loader *loader, struct queue *queue, bool waits,
                             struct ref *ref, struct sheaf_error *err)
{
    return loader->queue_ops->take(loader, queue, waits, ref, err);
}

/* For the kinds of queues: */

/* Begins the next read of the queue. Returns SHEAF_END if there is no memory for the read now. */
int queue_begin_read(struct loader *loader, struct queue *queue, const struct read_plan *plan,
                     struct sheaf_error *err);
/* The functions `pump` and `take` for the kinds of queues whose sequence of samples is known in
 * advance. */
int queue_pump_planned(struct loader *loader, struct sheaf_error *err);
int queue_take_planned(struct loader *loader, struct queue *queue, bool waits, struct ref *ref,
                       struct sheaf_error *err);
/* Appends a read to the queue. The first sample of the read is at the first position that is not
 * planned yet. */
void queue_append(struct loader *loader, struct queue *queue, struct read *read);
/* Removes the queue's first read. All its samples must have been returned. */
void queue_remove_first(struct loader *loader, struct queue *queue);

/* Returns whether all positions of the sequence are planned. */
static inline bool queue_is_planned(const struct queue *q)
{
    return q->planned == q->sequence->count;
}

#endif
