/* SPDX-License-Identifier: MIT
 *
 * The lanes of a reader, and the prefetch that feeds them.
 *
 *     lane 0:  planned --> [chunk][chunk] --take--> slots (shuffle buffer) --emit-->
 *     lane 1:  planned --> [chunk]        --take--> slots                  --emit-->
 *
 * An INTAKE is one item that a lane takes in: first what fills its slots, then its further
 * inputs one by one.  The first samples that it emits need not wait for the slots to be filled:
 * the order is known, so they are fetched by themselves, as its EARLY intakes, and the slots are
 * filled with what they hold after that.
 *
 * Chunks are planned in the order in which their first intake will be needed (the least intake
 * number over all lanes first), so whatever the budget holds is always what is needed soonest, and
 * no lane can starve another.
 *
 * Where samples are read as they are drawn (see lazy_shuffle.h), the lane has one slot, and its
 * intakes are its draws.  Where single samples do not fit into the memory, they are
 * deferred, and read when they are drawn, too (see deferred.h).
 *
 * All of this runs on the caller's thread, which only lends a hand with jobs where they are not
 * waited for long; workers run the jobs. */
#ifndef READER_LANE_H
#define READER_LANE_H

#include "reader/lazy_shuffle.h"
#include "reader/read_window.h"

struct stream;
struct recall;

#define LANE_EARLY 32u          /* early samples of all lanes of a reader, at most */

struct lane {
    uint32_t number;
    struct order_lane range;
    struct shuffle shuffle;
    uint64_t planned;           /* intakes that are in chunks, or were; >= taken */
    uint64_t taken;             /* intakes that were taken */
    uint64_t early;             /* the first intakes: they are emitted without a slot; */
    uint64_t early_inputs[LANE_EARLY];
    uint64_t fill;              /* the next: they fill the slots */
    uint64_t after;             /* the input of the intake after these */
    uint64_t *fill_inputs;      /* replayed: the inputs that fill the slots, ascending, */
    uint64_t *fill_slots;       /* and the slots that they go into; NULL: input i, slot i */
    struct chunk *first, *last;
    unsigned waiting;           /* of a stream: chunks planned and not yet taken away */
    struct stream *stream;      /* the data set is one: the lane's shards; else NULL */
    struct draws *draws;        /* samples are read as they are drawn; else NULL */
    struct shard *shard;        /* the planned place is in it */
    struct shard *ahead;        /* the next one on the line; NULL: none, or not yet */
    struct item *slots;
    uint64_t slot_count;
    bool refill_due;            /* the slot emitted last waits for the next intake */
    uint64_t refill_slot;
    uint64_t deferred;          /* items in slots that are */
    struct recall *recalls;     /* those that are drawn soon */
    unsigned foreseen;          /* draws until it is time to look ahead again */
    struct shard *alone;        /* of the record that is to be read alone next; NULL: none */
};

struct feed {
    const struct sheaf_dataset *dataset;
    struct order order;
    struct order_line line;
    struct workers *workers;
    struct budget budget;
    struct shards shards;
    struct cache *cache;        /* NULL: none */
    struct pipe_shift pipe_shift;
    struct lane *lanes;         /* of this reader, in their turn */
    uint32_t lane_count;
    size_t outstanding;         /* chunks planned and not yet consumed */
    size_t outstanding_limit;
    struct window window;       /* of reads from afar: outstanding_limit follows it */
    uint64_t chunk_bytes;       /* raw bytes of a chunk, about */
    bool cuts_blocks;           /* not even a codec block is one chunk */
    uint64_t outsize_bytes;     /* a larger frame is deferred, if frames can be */
    bool draws;                 /* samples are read as they are drawn */
    bool own_frames;            /* the shuffle buffer has samples: each frame has a piece of its
                                   own (and can be deferred), else each chunk, of */
    struct heap *frames;        /* this heap, which is kept from epoch to epoch */
    uint64_t lend_bytes;        /* what may be lent of it to the program */
    struct chunk *retired;      /* consumed, but items of it may be with the caller */
    struct chunk *spare;        /* empty, with memory to be used again: */
    uint64_t spare_most_bytes;  /* of one; larger ones held an outsize sample and are freed */
    uint64_t spare_bytes;       /* of them all; budget.used + spare_bytes <= budget.limit */
    uint64_t read_bytes;
    uint64_t passed_over;       /* by streams: members of tars that are no sample's */
    uint64_t stall_ns;
    const volatile int *interrupt;  /* nonzero: who waits for a shard to be opened gives up */
    uint64_t wait_until_ns;         /* and at this time; 0: not then */
};

/* ---- reader/lane.c -------------------------------------------------------------------------- */

/* Sets up one lane at `steps` steps into the epoch (0: its start). */
int lane_begin(struct feed *feed, struct lane *lane, uint64_t steps, struct sheaf_error *err);
/* Makes reads from afar end soon. */
void lane_cancel(struct lane *lane);
/* Waits for all jobs of its chunks. */
void lane_wait(struct lane *lane);
/* Frees the slots and chunks; no job may be running. */
void lane_clear(struct feed *feed, struct lane *lane);

/* How many intakes it has, and which place on the line one of them is; of draws, only how many. */
uint64_t lane_intakes(const struct lane *lane);
uint64_t lane_intake_place(const struct lane *lane, uint64_t intake);
/* Whether that is the sample which comes once more, to pad the lane. */
bool lane_intake_repeats(const struct lane *lane, uint64_t intake);

/* ---- reader/prefetch.c ---------------------------------------------------------------------- */

/* Submits as much as window and budget permit.  SHEAF_ERR_INTERRUPTED: a shard was not opened in
 * time, and it may be called again. */
int feed_pump(struct feed *feed, struct sheaf_error *err);

/* The next item of the lane goes to *item.  Waits for it.  SHEAF_OK; SHEAF_END if there are no
 * more (known only now for a stream); SHEAF_ERR_INTERRUPTED if *interrupt became nonzero while
 * it waited: it may be called again.  The chunk that a sequential item lies in stays until
 * feed_release. */
int feed_take(struct feed *feed, struct lane *lane, struct item *item,
              const volatile int *interrupt, struct sheaf_error *err);

/* Frees the chunks that were used up: what they held is no longer with the caller. */
void feed_release(struct feed *feed);

/* The chunk, which is done, is used up, but its items go to the caller. */
void feed_retire(struct feed *feed, struct chunk *chunk);

/* Waits for the shard to be open.  Returns the code that it was opened with, or
 * SHEAF_ERR_INTERRUPTED. */
int feed_open_shard(struct feed *feed, struct shard *shard, struct sheaf_error *err);

/* ---- reader/chunk_pool.c -------------------------------------------------------------------- */

/* Makes the chunk the lane's last one. */
void feed_append(struct feed *feed, struct lane *lane, struct chunk *chunk);

/* Makes these runs the lane's next chunk, and begins to read it.  `reserved`: what it needs until
 * it is done is of what is reserved.  SHEAF_END: the budget has no room for it now. */
int feed_begin_chunk(struct feed *feed, struct lane *lane, const struct run *runs,
                     size_t run_count, bool reserved, struct sheaf_error *err);

/* Makes the lane's next chunk one deferred record.  SHEAF_END: the budget has no room for it. */
int feed_defer_chunk(struct feed *feed, struct lane *lane, const struct order_run *run,
                     bool reserved, struct sheaf_error *err);

/* An empty chunk; a spare one if its memory is not too much for one of so many bytes.  NULL: there
 * is no memory. */
struct chunk *feed_new_chunk(struct feed *feed, uint64_t memory);

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
