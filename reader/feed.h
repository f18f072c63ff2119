/* SPDX-License-Identifier: MIT
 *
 * What the lanes of a reader share: the memory budget, open shards, threads, and spare memory for
 * chunks.  Of the planning thread, which is the caller's. */
#ifndef READER_FEED_H
#define READER_FEED_H

#include "reader/chunk.h"
#include "reader/order.h"
#include "reader/read_window.h"

struct prefetch;

struct feed {
    const struct sheaf_dataset *dataset;
    struct order order;
    struct order_line line;
    struct workers *workers;
    struct budget budget;
    struct shards shards;
    struct cache *cache;        /* NULL: none */
    struct pipe_shift pipe_shift;
    struct prefetch *prefetches;    /* one for each lane of this reader, in their turn */
    uint32_t lane_count;            /* of a view: as many for each source */
    uint32_t prefetch_count;        /* as many; or twice, where a view's next stretches are read
                                       ahead: the second half is for these, or for the others */
    size_t outstanding;         /* chunks planned and not yet consumed */
    size_t outstanding_limit;
    struct window window;       /* of remote reads: outstanding_limit follows it */
    uint64_t chunk_bytes;       /* raw bytes of a chunk, about */
    bool few_sections;          /* of a view: there is no room for those of all lanes */
    bool cuts_blocks;           /* not even a codec block is one chunk */
    uint64_t outsize_bytes;     /* a larger frame is deferred, if frames can be */
    bool draws;                 /* samples are read as they are drawn */
    bool own_frames;            /* the shuffle buffer has samples: each frame has a piece of its
                                   own (and can be deferred), else each chunk, of */
    struct heap *frames;        /* this heap, which is kept from epoch to epoch */
    uint64_t lend_bytes;        /* what may be lent of it to the program */
    unsigned recalls_running;   /* shared ones (deferred.h) that are under way; */
    unsigned recalls_most;      /* so many, unless one is needed */
    struct chunk *retired;      /* consumed, but items of it may be with the caller */
    struct chunk *spare;        /* empty, with memory to be used again: */
    uint64_t spare_most_bytes;  /* of one; larger ones held an outsize sample and are freed */
    uint64_t spare_bytes;       /* of them all; budget.used + spare_bytes <= budget.limit */
    uint64_t read_bytes;
    uint64_t passed_over;       /* by streams: members of tars that are no sample's; */
    uint64_t lost_bytes;        /* bytes behind damage */
    uint64_t stall_ns;
    const volatile int *interrupt;  /* nonzero: waits for a shard to be opened end */
    uint64_t wait_until_ns;         /* and at this time; 0: not then */
};

/* Waits for the shard to be open.  Returns the code that it was opened with, or
 * SHEAF_ERR_INTERRUPTED. */
int feed_open_shard(struct feed *feed, struct shard *shard, struct sheaf_error *err);

/* What a chunk takes of the budget, `reserved` bytes of it of what is reserved; whether it is read
 * in pieces, and where its frames go. */
struct feed_memory {
    uint64_t bytes, reserved;
    bool in_pieces;
    enum { FEED_USUAL, FEED_ALONE, FEED_PASSING } frames;
};

/* Takes it; false: there is no room. */
bool feed_take_memory(struct feed *feed, const struct feed_memory *memory);
/* Takes that of a chunk which passes its items on as they are taken, and says what it is.
 * Remotely, one request for a whole block is better than many for pieces of it. */
bool feed_take_passing(struct feed *feed, const struct run *runs, size_t run_count,
                       struct feed_memory *memory);

/* A chunk of these runs, for which the memory was taken: it goes to the chunk, or back.  SHEAF_END:
 * the heap has no room. */
int feed_make_chunk(struct feed *feed, const struct run *runs, size_t run_count,
                    const struct feed_memory *memory, struct chunk **chunk,
                    struct sheaf_error *err);

/* A chunk of what these items stand for, ascending records of one block of a shard that is open,
 * each into its item's piece.  What it needs while its job runs is still to be taken.  SHEAF_END:
 * the budget has no room for it. */
int feed_make_shared(struct feed *feed, struct shard *shard, struct item *const *items,
                     size_t count, struct chunk **chunk, struct sheaf_error *err);

/* A chunk of one deferred record, `reserved`: what it needs is of what is reserved.  SHEAF_END:
 * the budget has no room for it. */
int feed_make_deferred(struct feed *feed, const struct order_run *run, size_t bytes,
                       bool reserved, struct chunk **chunk, struct sheaf_error *err);

/* Begins to read the chunk. */
void feed_submit(struct feed *feed, struct chunk *chunk);

/* An empty chunk for `memory` bytes; a spare one is reused unless it is much larger than that.
 * NULL: out of memory. */
struct chunk *feed_new_chunk(struct feed *feed, uint64_t memory);

/* The chunk, which is done, is used up, but its items go to the caller: it stays until
 * feed_release. */
void feed_retire(struct feed *feed, struct chunk *chunk);

/* Frees the chunks that were used up: what they held is no longer with the caller. */
void feed_release(struct feed *feed);

/* Gives the chunk's memory back, or keeps it for the next one. */
void feed_recycle(struct feed *feed, struct chunk *chunk);

/* Frees spare memory, as far as the budget has no room for it. */
void feed_trim_spares(struct feed *feed);

/* SHEAF_ERR_LIMIT, and says so: not even the reserve has room for the record. */
int feed_is_full(const struct feed *feed, const struct shard *shard, uint64_t record,
                 struct sheaf_error *err);

/* Frees the spare chunks and the heap. */
void feed_free(struct feed *feed);

#endif
