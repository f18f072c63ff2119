/* SPDX-License-Identifier: MIT
 *
 * The state that a reader's lanes share to bring samples into memory: the budget, open shards,
 * threads and all reads. Used only on the planning thread, which is the caller's. */
#ifndef READER_LOADER_H
#define READER_LOADER_H

#include "base/heap.h"
#include "base/transfer_window.h"
#include "reader/load/read.h"
#include "reader/order/order.h"

struct queue;

#define REF_EMPTY UINT64_MAX

/* A sample, or its number. */
struct ref {
    struct item *item;          /* NULL if it is not in memory; */
    union {
        uint64_t input;         /* if `item` is NULL: the sample's number within the lane, or
                                   REF_EMPTY; */
        struct read *read;      /* otherwise: the read that the item belongs to; NULL if the read
                                   has landed and its items lie apart */
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
    struct queue *queues;           /* the queue of each lane of this reader, in the order of
                                       turns */
    uint32_t lane_count;            /* number of lanes; for a view, multiplied by the number of
                                       sources */
    uint32_t queue_count;           /* lane_count; or twice that if a view's next stretches are
                                       read ahead: half of the queues are then for the next
                                       stretches */
    bool keeps;                     /* whether samples are kept in memory until they are drawn;
                                       otherwise they are read in the order of drawing, */
    bool draws;                     /* whether that order differs from the order on the line */
    size_t queued, queued_most;     /* number of reads in queues that still have samples */
    struct window window;           /* of remote reads; queued_most follows it */
    uint64_t read_most;             /* approximate number of uncompressed bytes of a read */
    bool few_sections;              /* in a view: memory has no room for the sections of all
                                       lanes */
    bool apart;                     /* each sample is in a piece of its own, */
    bool in_parts;                  /* decompress codec blocks only for wanted samples, because
                                       memory has no room for whole blocks */
    uint64_t outsize_bytes;         /* a larger frame does not wait in the shuffle buffer; it is
                                       read when it is drawn */
    struct heap *heap;              /* memory for samples; it is kept for the next epoch */
    uint64_t lend_bytes;            /* part of the heap that may be lent to the program */
    struct read *reads;             /* all that there are */
    struct work *spare;             /* buffers of finished reads, which are used again */
    uint64_t spare_most_bytes;      /* larger buffers held an outsize sample and are freed */
    uint64_t spare_bytes;           /* size of all spare buffers; budget.used + spare_bytes <=
                                       budget.limit */
    uint64_t read_bytes;
    uint64_t passed_over;           /* in streams: number of tar members that belong to no sample */
    uint64_t lost_bytes;            /* and of bytes lost after damage */
    uint64_t repeated_keys;         /* in streams: number of samples whose key occurred before in
                                       their shard */
    uint64_t stall_ns;
    const volatile int *interrupt;  /* waits end when it is not zero */
};

/* Waits until the shard is open. Returns the result of opening it, or SHEAF_ERR_INTERRUPTED. */
int loader_open_shard(struct loader *loader, struct shard *shard, struct sheaf_error *err);
bool loader_shard_is_open(struct loader *loader, struct shard *shard);

/* Which memory a read may take. */
enum loader_share {
    LOADER_AHEAD,               /* free memory in the heap, */
    LOADER_SOON,                /* otherwise free memory in the budget, */
    LOADER_NOW,                 /* otherwise the reserve */
};

/* Begins a read. Takes over the uses of the runs' shards, which must be open. Returns SHEAF_END if
 * there is no memory for it. The new read has one user. */
int loader_begin(struct loader *loader, const struct read_plan *plan, enum loader_share share,
                 struct read **read, struct sheaf_error *err);
/* Begins to read one record alone. If it is compressed, chooses a way for which there is memory. */
int loader_begin_alone(struct loader *loader, struct shard *shard, uint64_t record, bool repeats,
                       enum loader_share share, struct read **read, struct sheaf_error *err);
/* Makes a read without a plan. A stream fills it. */
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
/* Returns the piece of the heap that has the sample's bytes, so that it can be lent. Returns NULL
 * if they are not in the heap. */
uint8_t *loader_piece(const struct ref *ref);

/* Frees the memory that landed reads and idle shards still hold. */
void loader_shrink(struct loader *loader);
/* Frees spare buffers until the budget has room for the rest. */
void loader_trim(struct loader *loader);
/* Returns the room for samples that lie apart. */
static inline uint64_t loader_room(const struct loader *l)
{
    return heap_room(l->heap);
}

/* Returns the memory for reading one record of an open shard alone. */
uint64_t loader_alone_bytes(const struct shard *shard, uint64_t record);
/* Reports with SHEAF_ERR_LIMIT that even the reserve has no room for the record. */
int loader_is_full(const struct loader *loader, const struct shard *shard, uint64_t record,
                   struct sheaf_error *err);

/* Makes all jobs end soon, and waits for them. */
void loader_cancel(struct loader *loader);
/* Frees all reads. Nothing may refer to them. */
void loader_clear(struct loader *loader);
/* Frees the spare buffers and the heap. */
void loader_free(struct loader *loader);

#endif
