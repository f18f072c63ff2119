/* SPDX-License-Identifier: MIT
 *
 * What the lanes of a reader share to bring samples into memory: the budget, open shards, threads,
 * and all reads that there are.  Of the planning thread, which is the caller's. */
#ifndef READER_LOADER_H
#define READER_LOADER_H

#include "base/heap.h"
#include "reader/load/read.h"
#include "reader/load/read_window.h"
#include "reader/order/order.h"

struct queue;

#define REF_EMPTY UINT64_MAX

/* One sample, or its number. */
struct ref {
    struct item *item;          /* NULL: it is not in memory, */
    union {
        uint64_t input;         /* and this number of its lane's, or REF_EMPTY; */
        struct read *read;      /* else: that it belongs to; NULL: it lies apart, and is here */
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
    struct queue *queues;           /* one for each lane of this reader, in their turn */
    uint32_t lane_count;            /* of a view: as many for each source */
    uint32_t queue_count;           /* as many; or twice, where a view's next stretches are read
                                       ahead: the second half is for these, or for the others */
    bool keeps;                     /* samples stay in memory until they are drawn; else they are
                                       read in the order in which they are drawn, */
    bool draws;                     /* which is not that of the line */
    size_t queued, queued_most;     /* reads in queues, that are not all given out */
    struct window window;           /* of remote reads: queued_most follows it */
    uint64_t read_most;             /* raw bytes of a read, about */
    bool few_sections;              /* of a view: there is no room for those of all lanes */
    bool apart;                     /* each sample lies in a piece of its own, */
    bool in_parts;                  /* and codec blocks are unpacked for the samples that are wanted
                                       alone: there is no memory for whole ones */
    uint64_t outsize_bytes;         /* a larger frame is read when it is drawn */
    struct heap *heap;              /* of pieces; it is kept from epoch to epoch */
    uint64_t lend_bytes;            /* what may be lent of it to the program */
    struct read *reads;             /* all that there are */
    struct work *spare;             /* empty, with memory to be used again: */
    uint64_t spare_most_bytes;      /* of one; larger ones held an outsize sample and are freed */
    uint64_t spare_bytes;           /* of them all; budget.used + spare_bytes <= budget.limit */
    uint64_t read_bytes;
    uint64_t passed_over;           /* by streams: members of tars that are no sample's; */
    uint64_t lost_bytes;            /* bytes behind damage */
    uint64_t repeated_keys;         /* by streams: samples whose key came before in their shard */
    uint64_t stall_ns;
    const volatile int *interrupt;  /* nonzero: waits end */
};

/* Waits for the shard to be open.  Returns the code that it was opened with, or
 * SHEAF_ERR_INTERRUPTED. */
int loader_open_shard(struct loader *loader, struct shard *shard, struct sheaf_error *err);
bool loader_shard_is_open(struct loader *loader, struct shard *shard);

/* Whose memory a read may take. */
enum loader_share {
    LOADER_AHEAD,               /* what is free in the heap, */
    LOADER_SOON,                /* or else in the budget, */
    LOADER_NOW,                 /* or else what is reserved */
};

/* Begins a read; the use of the runs' shards, which are open, goes to it.  SHEAF_END: there is no
 * memory for it.  One that was begun has one user. */
int loader_begin(struct loader *loader, const struct read_plan *plan, enum loader_share share,
                 struct read **read, struct sheaf_error *err);
/* Begins to read one record together.  With a codec, in whichever way there is memory for. */
int loader_begin_alone(struct loader *loader, struct shard *shard, uint64_t record, bool repeats,
                       enum loader_share share, struct read **read, struct sheaf_error *err);
/* A read with no plan, which a stream fills. */
int loader_new_read(struct loader *loader, uint64_t memory, struct read **read,
                    struct sheaf_error *err);

/* Whether it is here: it has landed. */
bool loader_has(struct loader *loader, struct read *read);
/* Waits until it has landed, and says whether it failed. */
int loader_wait(struct loader *loader, struct read *read, struct sheaf_error *err);
/* One user less. */
void loader_leave(struct loader *loader, struct read *read);

/* The sample is no longer needed. */
void loader_release(struct loader *loader, struct ref *ref);
/* The piece of the heap that has its bytes, to be lent; NULL: they are in none. */
uint8_t *loader_piece(const struct ref *ref);

/* What reads that have landed, and shards that are idle, still hold goes back. */
void loader_shrink(struct loader *loader);
/* Frees spare memory, as far as the budget has no room for it. */
void loader_trim(struct loader *loader);
/* The room for samples that lie apart. */
static inline uint64_t loader_room(const struct loader *l)
{
    return heap_room(l->heap);
}

/* The memory that reading one record alone takes, of a shard that is open. */
uint64_t loader_alone_bytes(const struct shard *shard, uint64_t record);
/* SHEAF_ERR_LIMIT, and says so: not even what is reserved has room for the record. */
int loader_is_full(const struct loader *loader, const struct shard *shard, uint64_t record,
                   struct sheaf_error *err);

/* Makes everything that is under way end soon; and waits for it. */
void loader_cancel(struct loader *loader);
/* Frees all reads: nothing refers to them any more. */
void loader_clear(struct loader *loader);
/* Frees the spare memory and the heap. */
void loader_free(struct loader *loader);

#endif
