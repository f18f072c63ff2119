/* SPDX-License-Identifier: MIT
 *
 * The queue of a lane. A lane is one of the equal sequences into which an epoch is divided. The
 * queue has the reads that bring the samples of the lane into memory before they are needed.
 *
 * The queue's sequence is the order in which its samples are read. A position of the sequence is
 * planned when a read for its sample is begun. If memory has no room for the sample, no read is
 * begun, but the position counts as planned. The queue then returns only the number of the sample,
 * and the sample is read when it is drawn (lane.h).
 *
 * The queues of all lanes share the memory. The next read is always planned for the lane that needs
 * it soonest.
 *
 * All functions run on the caller's thread, and worker threads run the jobs of the reads. If the
 * files are local, the caller's thread also runs jobs instead of sleeping until they are done. */
#ifndef READER_QUEUE_H
#define READER_QUEUE_H

#include "reader/load/loader.h"
#include "reader/order/sequence.h"

struct horizon;
struct stream;
struct warmth;

/* Returned by queue_take if the sample is not in memory yet, and the caller does not want to wait.
 */
#define QUEUE_LATER      100
/* Returned by queue_ops.plan if memory has no room for the index section of a shard at the moment.
 */
#define QUEUE_NO_SECTION 101

struct queue {
    struct sequence *sequence;      /* the lane's sequence; NULL if there is no lane */
    /* The line: all samples in their order before shuffling. The queue's sequence gives the
     * position of each sample in the line. */
    const struct order_line *line;
    /* tells which samples should be in memory; NULL if all samples should be in memory */
    struct horizon *horizon;
    /* Approximate number of samples that are taken from this queue in one round. In a round, each
     * lane (a sequence of samples) returns one sample. Usually a lane has one queue, and the pace
     * is 1. In a view (a mix of data sets), a lane has a queue for each source, and the pace is at
     * most 1. */
    double pace;
    /* In a view (a mix of data sets), a lane (a sequence of samples) reads several ranges of a
     * source in one epoch. `before` is the number of samples in the ranges before the present
     * range. */
    uint64_t before;
    /* In a view (a mix of data sets): true if this queue reads the next range of a source's samples
     * in advance, while samples are still drawn from the present range. */
    bool is_ahead;
    /* Number of positions of the sequence that were planned, including positions whose samples were
     * already returned. A position is planned if a read for its sample was begun, or if the sample
     * will be read when it is drawn. */
    uint64_t planned;
    uint64_t taken;                 /* number of positions that were returned */
    struct read *first, *last;
    /* If the data set is a stream: reads the shards of the lane (a sequence of samples) from start
     * to end. Otherwise NULL. */
    struct stream *stream;
    /* If samples are read only when they are drawn: the state of reading their files into the
     * kernel's cache in advance. Otherwise NULL. */
    struct warmth *warmth;
    /* The shard of the planned position. If samples are read only when they are drawn: the shard
     * whose file is read into the kernel's cache next. */
    struct shard *shard;
    /* the shard after `shard`, which is being opened in advance; NULL if it was not opened yet, or
     * if there is no further shard */
    struct shard *next;
};

/* Begins the queue of a lane. */
int queue_begin(struct loader *loader, struct queue *queue, uint32_t lane,
                const struct order_line *line, struct sequence *sequence,
                struct sheaf_error *err);
/* Ends the queue. Its reads must have finished. */
void queue_clear(struct loader *loader, struct queue *queue);

/* The functions of one kind of queue. All queues of a loader are of one kind, loader->queue_ops. */
struct queue_ops {
    /* size in bytes of the fields that `begin` makes */
    uint64_t own_bytes;
    /* Makes the fields of a queue that only this kind of queue uses. `begin` is NULL if this kind
     * of queue has no fields of its own. */
    int (*begin)(struct loader *loader, struct queue *queue, uint32_t lane,
                 struct sheaf_error *err);
    /* Plans the next read of the queue. Returns SHEAF_END if there is not enough memory for the
     * read now. Returns QUEUE_NO_SECTION if there is not enough memory for the index section of its
     * shard. `plan` is NULL if `pump` plans the reads itself. */
    int (*plan)(struct loader *loader, struct queue *queue, struct sheaf_error *err);
    int (*pump)(struct loader *loader, struct sheaf_error *err);        /* implements queue_pump */
    int (*take)(struct loader *loader, struct queue *queue, bool waits, struct ref *ref,
                struct sheaf_error *err);                               /* implements queue_take */
    /* implements queue_cancel; NULL if there is nothing to cancel */
    void (*cancel)(struct queue *queue);
    /* frees the fields that `begin` has made; `end` is NULL if `begin` is NULL */
    void (*end)(struct loader *loader, struct queue *queue);
};
/* The kind of queue whose samples are read in the order of the shards. The index shows which bytes
 * each read needs. (stretch.c) */
extern const struct queue_ops queue_in_order;
/* The kind of queue whose samples stay in their files until they are drawn from the shuffle buffer.
 * (warm.c) */
extern const struct queue_ops queue_as_drawn;
/* The kind of queue for a stream. Its samples become known only when they arrive. (stream.c) */
extern const struct queue_ops queue_streamed;

/* Makes a stream end soon. */
static inline void queue_cancel(const struct loader *loader, struct queue *queue)
{
    if (loader->queue_ops->cancel != NULL)
        loader->queue_ops->cancel(queue);
}

/* Begins reads for all lanes (sequences of samples), until the allowed number of outstanding reads
 * is reached or the memory budget is used up. Returns SHEAF_ERR_INTERRUPTED if the wait for a shard
 * was interrupted. The caller may then repeat the call. */
static inline int queue_pump(struct loader *loader, struct sheaf_error *err)
{
    return loader->queue_ops->pump(loader, err);
}

/* Sets *ref to the next sample of the queue, or only to its number if the sample is not in memory.
 * Returns SHEAF_END if there are no more samples. Returns QUEUE_LATER if the sample has not arrived
 * and `waits` is false. After SHEAF_ERR_INTERRUPTED, the caller may repeat the call.
 *
 * A remote read is late if a later read has already finished. If the samples go to a shuffle
 * buffer, the function does not wait for a late read. *ref then refers to a sample that is still
 * being read, and the code that draws the sample must wait for the read. */
static inline int queue_take(struct loader *loader, struct queue *queue, bool waits,
                             struct ref *ref, struct sheaf_error *err)
{
    return loader->queue_ops->take(loader, queue, waits, ref, err);
}

/* The following functions are used only by the files that implement the kinds of queues:
 * stretch.c, warm.c, stream.c and numbers.c. */

/* Begins the read that `plan` describes, as the next read of the queue. Returns SHEAF_END if there
 * is not enough memory for the read now. */
int queue_begin_read(struct loader *loader, struct queue *queue, const struct read_plan *plan,
                     struct sheaf_error *err);
/* Implement `pump` and `take` of queue_ops for all kinds of queues except the queues for streams.
 * These functions plan reads in advance. This is not possible for a stream, because its next
 * samples are unknown. */
int queue_pump_planned(struct loader *loader, struct sheaf_error *err);
int queue_take_planned(struct loader *loader, struct queue *queue, bool waits, struct ref *ref,
                       struct sheaf_error *err);
/* Appends a read to the queue. Its first sample is the sample at the first position that is not
 * planned yet. */
void queue_append(struct loader *loader, struct queue *queue, struct read *read);
/* Removes the first read from the queue. All its samples must have been returned by then. */
void queue_remove_first(struct loader *loader, struct queue *queue);

/* Returns whether all positions of the sequence are planned. */
static inline bool queue_is_planned(const struct queue *q)
{
    return q->planned == q->sequence->count;
}

#endif
