/* SPDX-License-Identifier: MIT
 *
 * The state that all lanes of a reader share to bring samples into memory: the budget, open shards,
 * threads and all reads. Used only on the planning thread, which is the thread that calls the
 * reader. */
#ifndef READER_LOADER_H
#define READER_LOADER_H

#include "base/heap.h"
#include "base/transfer_window.h"
#include "reader/load/read.h"
#include "reader/order/order.h"

struct queue;
struct queue_ops;

#define REF_EMPTY UINT64_MAX

/* A sample, or its number. */
struct ref {
    struct item *item;          /* NULL if it is not in memory; */
    union {
        /* if `item` is NULL, because the sample is not in memory: the sample's number within the
         * lane, or REF_EMPTY */
        uint64_t input;
        /* for a sample that is in memory: the read whose memory has its bytes, or NULL if the
         * sample has an allocation of its own */
        struct read *read;
    };
};

struct loader {
    const struct sheaf_dataset *dataset;
    struct order order;
    struct order_line line;
    struct workers *workers;
    struct budget budget;
    struct shards shards;
    struct cache *cache;            /* NULL: none */
    struct pipe_shift pipe_shift;
    const struct queue_ops *queue_ops;      /* the kind of all queues */
    /* the queues of all lanes of this reader, in the order in which samples are taken from the
     * lanes */
    struct queue *queues;
    /* number of struct lanes: one for each lane of this reader; for a view, one for each pair of
     * such a lane and a source */
    uint32_t lane_count;
    /* `queue_count` is the number of queues. The first `lane_count` queues belong to the lanes. A
     * view may also read ahead the ranges of samples from which its lanes will draw next. Then
     * there are twice as many queues, and the second half reads these ranges. `coming_count` is the
     * number of queues of the second half that may be used; it is 0 if memory has no room for
     * them. */
    uint32_t queue_count, coming_count;
    /* `lead` is the number of draws that each lane makes in advance, and whose samples are read.
     * `keep` is the number of draws for which a sample may be in memory before it is drawn. It is 0
     * if each sample is read only when it is drawn; until then, the kernel caches its file. It is 1
     * if samples are returned in the order in which they are read. Otherwise it is the size of the
     * shuffle buffer, in which samples wait. */
    unsigned lead;
    uint64_t keep;
    size_t queued, queued_most;     /* number of reads in queues that still have samples */
    struct window window;           /* of remote reads; queued_most follows it */
    uint64_t read_most;             /* approximate number of uncompressed bytes of a read */
    /* how reads decompress codec blocks: the whole blocks; or only the wanted samples, because
     * memory has no room for whole blocks */
    enum read_how how;
    /* A frame (stored record) larger than this does not wait in the shuffle buffer. Only its number
     * waits there, and it is read when it is drawn. */
    uint64_t outsize_bytes;
    /* heap with the memory for samples; it is kept from one epoch to the next */
    struct heap *heap;
    /* number of bytes of the heap that may be lent to the program */
    uint64_t lend_bytes;
    struct read *reads;             /* all that there are */
    struct work *spare;             /* buffers of finished reads, which are used again */
    uint64_t spare_most_bytes;      /* larger buffers held an outsize sample and are freed */
    /* total size of the spare buffers; budget.used + spare_bytes <= budget.limit always holds */
    uint64_t spare_bytes;
    uint64_t read_bytes;
    struct stream_counts counts;    /* of all streams */
    uint64_t stall_ns;
    const volatile int *interrupt;  /* waits end when it is not zero */
};

/* Returns whether each item (record in memory) gets an allocation of its own. Otherwise the items
 * of one read lie in one block. */
static inline bool loader_is_apart(const struct loader *l)
{
    return l->keep > 1 || l->how != READ_WHOLE;
}

/* Waits until the shard is open. Returns the result of opening the shard, or
 * SHEAF_ERR_INTERRUPTED. */
int loader_open_shard(struct loader *loader, struct shard *shard, struct sheaf_error *err);
bool loader_shard_is_open(struct loader *loader, struct shard *shard);

/* Which memory a read may take. */
enum loader_share {
    LOADER_AHEAD,               /* free memory in the heap, */
    LOADER_SOON,                /* otherwise free memory in the budget, */
    LOADER_NOW,                 /* otherwise the reserve */
};

/* Begins a read, which is a job that brings records of a shard into memory. The caller's references
 * to the shards in the plan now belong to the read; these shards must be open. Returns SHEAF_END if
 * there is no memory for the read. The number of users of the new read is 1. */
int loader_begin(struct loader *loader, const struct read_plan *plan, enum loader_share share,
                 struct read **read, struct sheaf_error *err);
/* Begins to read a single record. If the shard is compressed, decompresses the record in a way for
 * which there is enough memory. */
int loader_begin_alone(struct loader *loader, struct shard *shard, uint64_t record, bool repeats,
                       enum loader_share share, struct read **read, struct sheaf_error *err);
/* Makes an empty struct read without a plan, which a stream will fill with samples. */
int loader_new_read(struct loader *loader, uint64_t memory, struct read **read,
                    struct sheaf_error *err);

/* Returns whether the read has landed. */
bool loader_has(struct loader *loader, struct read *read);
/* Waits until the read has landed. Returns its result. */
int loader_wait(struct loader *loader, struct read *read, struct sheaf_error *err);
/* Removes one user of a read. */
void loader_leave(struct loader *loader, struct read *read);

/* Releases a sample that is no longer needed. */
void loader_release(struct loader *loader, struct ref *ref);
/* Returns the piece of the heap in which the sample's bytes lie, so that this piece can be lent to
 * the program. Returns NULL if the bytes are not in the heap. */
uint8_t *loader_piece(const struct ref *ref);

/* Frees the memory that finished reads and idle shards still hold. */
void loader_shrink(struct loader *loader);
/* Frees spare buffers until the remaining ones fit into the budget. */
void loader_trim(struct loader *loader);
/* Returns the room for samples that lie apart. */
static inline uint64_t loader_room(const struct loader *l)
{
    return heap_room(l->heap);
}

/* Returns the memory that is needed to read one record of an open shard by itself. */
uint64_t loader_alone_bytes(const struct shard *shard, uint64_t record);
/* Sets the error for a record that does not fit even into the reserved memory. Returns
 * SHEAF_ERR_LIMIT. */
int loader_is_full(const struct loader *loader, const struct shard *shard, uint64_t record,
                   struct sheaf_error *err);

/* Makes all jobs end soon, and waits for them. */
void loader_cancel(struct loader *loader);
/* Frees all reads. Nothing may refer to them. */
void loader_clear(struct loader *loader);
/* Frees the spare buffers and the heap. */
void loader_free(struct loader *loader);

#endif
