/* SPDX-License-Identifier: MIT
 *
 * State that all lanes (sequences of samples) of a reader share to bring samples into memory: the
 * budget, the open shards, the threads and all reads. Used only on the planning thread, the thread
 * that calls the reader. */
#ifndef READER_LOADER_H
#define READER_LOADER_H

#include "base/heap.h"
#include "base/transfer_window.h"
#include "base/watch.h"
#include "reader/load/read.h"
#include "reader/order/order.h"

struct queue;
struct queue_ops;

#define REF_EMPTY UINT64_MAX

/* A sample, or its number. */
struct ref {
    struct item *item;          /* NULL if the sample is not in memory */
    union {
        /* If `item` is NULL: the number of the sample within the lane (a sequence of samples), or
         * REF_EMPTY if there is no sample. */
        uint64_t input;
        /* If `item` is not NULL: the read in whose memory the sample lies, or NULL if the sample
         * has an allocation of its own. */
        struct read *read;
    };
};

struct loader {
    const struct sheaf_dataset *dataset;
    struct order order;
    struct order_line line;
    /* the threads that run the reads; NULL if each read runs on the thread that begins it */
    struct workers *workers;
    struct budget budget;
    struct shards shards;
    struct cache *cache;            /* NULL if there is no cache */
    struct pipe_shift pipe_shift;
    /* functions for the queues of this loader, which are all of the same kind (see queue.h) */
    const struct queue_ops *queue_ops;
    /* the queues of all lanes (sequences of samples) of this reader, in the order in which the
     * lanes return samples */
    struct queue *queues;
    /* Number of elements of type `struct lane`. Usually each lane (a sequence of samples) of this
     * reader has one element. In a view (a mix of data sets), each lane has one for each source. */
    uint32_t lane_count;
    /* Number of queues. The lanes (sequences of samples) take samples from the first `lane_count`
     * queues. In a view (a mix of data sets), there are `lane_count` further queues, which read the
     * next samples of each lane in advance. */
    uint32_t queue_count;
    uint32_t coming_count;          /* number of further queues that memory has room for */
    /* Number of draws by which each lane (a sequence of samples) is ahead of the caller: this
     * number of samples is drawn but not returned yet. Meanwhile, drawn samples that are not in
     * memory can be read. */
    unsigned lead;
    /* A sample may wait in memory before it is drawn. Largest number of draws of its lane (sequence
     * of samples) during this wait:
     * - 0 if each sample is read only when it is drawn, because the kernel caches the files.
     * - 1 if samples are returned in the order in which they are read.
     * - Otherwise the size of the shuffle buffer, in which samples wait. */
    uint64_t keep;
    size_t queued, queued_most;     /* number of reads in queues that still have samples */
    struct window window;           /* limit for remote reads, from which queued_most is computed */
    uint64_t read_most;             /* approximate number of uncompressed bytes of a read */
    /* 0 if memory has room for whole codec blocks. Otherwise only the needed records of a block are
     * decompressed, and its stored bytes are read in steps of this number of bytes (struct
     * read_plan). step_bytes[false] is for local shards, and step_bytes[true] for remote ones. */
    uint64_t step_bytes[2];
    /* Largest size of a frame (stored record) that may be in the shuffle buffer. For a larger
     * frame, the buffer has only the sample's number, and the sample is read when it is drawn. */
    uint64_t outsize_bytes;
    /* The heap with the memory for samples. It is not freed between epochs. NULL if each sample is
     * allocated by malloc. */
    struct heap *heap;
    /* largest number of bytes of the heap that may be lent to the program */
    uint64_t lend_bytes;
    struct read *reads;             /* list of all reads */
    /* Buffers of a finished read are kept for later reads (shards.spares) if they have at most this
     * number of bytes. Larger buffers are freed, because only a read of an unusually large sample
     * has needed them. */
    uint64_t spare_most_bytes;
    uint64_t read_bytes;
    struct stream_counts counts;    /* counts for all streams together */
    uint64_t stall_ns;
    struct watch watch;             /* interrupts waits, and reports progress during waits */
};

/* Returns whether codec blocks are decompressed in steps, because memory has no room for them. */
static inline bool loader_reads_in_steps(const struct loader *l)
{
    return l->step_bytes[false] != 0;
}

/* Returns true if each item (record in memory) has an allocation of its own. Otherwise all items of
 * a read are in one block. */
static inline bool loader_is_apart(const struct loader *l)
{
    return l->keep > 1 || loader_reads_in_steps(l);
}

/* Waits until the shard is open. Returns the result of opening it, or SHEAF_ERR_INTERRUPTED if the
 * wait was interrupted. */
int loader_open_shard(struct loader *loader, struct shard *shard, struct sheaf_error *err);
bool loader_shard_is_open(struct loader *loader, struct shard *shard);

/* The memory that a read may take. Each value also allows the memory of the values before it. */
enum loader_share {
    LOADER_AHEAD,               /* The read may take free memory of the heap. */
    LOADER_SOON,                /* It may also take free memory of the budget. */
    LOADER_NOW,                 /* It may also take the reserve. */
};

/* Begins a read, which is a job that brings records of a shard into memory. The shards in `plan`
 * must be open. The read takes over the caller's references to these shards. The new read has one
 * user, the caller.
 *
 * If there is not enough memory, first frees memory that is not in use. Returns SHEAF_END if there
 * is still not enough memory for the read. In that case, the caller keeps its references. */
int loader_begin(struct loader *loader, const struct read_plan *plan, enum loader_share share,
                 struct read **read, struct sheaf_error *err);
/* Begins a read of a run of a single record. If the record is in a codec block, decompresses only
 * the record, so that little memory is needed. `share` says which memory may be used. Does not free
 * memory first: while memory is short, each drawn sample begins such a read, and would close the
 * shards that the next ones need. Otherwise like loader_begin. */
int loader_begin_alone(struct loader *loader, const struct run *run, enum loader_share share,
                       struct read **read, struct sheaf_error *err);
/* Makes a read without a plan. A stream will fill it with the samples that arrive next. */
int loader_new_read(struct loader *loader, uint64_t memory, struct read **read,
                    struct sheaf_error *err);

/* Returns true if the job of the read has finished. */
bool loader_has(struct loader *loader, struct read *read);
/* Waits until the job of the read has finished. Returns its result. */
int loader_wait(struct loader *loader, struct read *read, struct sheaf_error *err);
/* Removes one user of a read. */
void loader_leave(struct loader *loader, struct read *read);

/* Releases a sample that is no longer needed. */
void loader_release(struct loader *loader, struct ref *ref);
/* Returns the piece (allocated range) of the heap in which the bytes of the sample lie. The piece
 * can be lent to the program. Returns NULL if the bytes are not in the heap. */
uint8_t *loader_piece(const struct ref *ref);

/* Frees memory that is not in use: buffers of finished reads, and shards that are open but not
 * used. */
void loader_shrink(struct loader *loader);

/* Returns the memory in bytes that is needed to read a run of a single record alone. The shard must
 * be open. */
uint64_t loader_alone_bytes(const struct run *run);

/* Makes all reads end soon. */
void loader_cancel_reads(struct loader *loader);
/* Waits until all reads have finished, whatever their results. */
void loader_wait_for_all(struct loader *loader);
/* Makes all jobs of the loader's threads end soon, and waits for them. No other loader may use the
 * same threads. */
void loader_cancel(struct loader *loader);
/* Frees all reads. The caller must have released all samples, because samples may lie in the memory
 * of reads. */
void loader_clear(struct loader *loader);
/* Frees the spare buffers and the heap. */
void loader_free(struct loader *loader);

#endif
