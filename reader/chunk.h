/* SPDX-License-Identifier: MIT
 *
 * A chunk: runs of consecutive records, read, unpacked and checked by one job.
 *
 *     plan (runs of records) --job--> items, each a frame that is right, or the error that says
 *                                     why it is not
 *
 * In the order of the line there is one run, or several where samples between them were not chosen;
 * where samples are read as they are drawn, each is a run of its own.  Frames either lie together
 * in the chunk's buffer (no copy is made after the kernel's) or, for a shuffle buffer of samples,
 * each in a piece of the reader's heap, so that one sample does not hold back its neighbours.
 * The buffer is such a piece, too, so that it can be lent to the program.  The planning thread
 * takes the pieces before the job runs and gives them back; the job only fills them.
 *
 * A chunk that is ALONE has one record and memory of its own: it is read where the heap has no room
 * for it.  So has one that is PASSING, of any run: the lane moves each item into the heap as it
 * takes it, if there is room for it then.  And the records of one that SHARES A BLOCK, each a run,
 * are unpacked in one go, each into the piece that is there for it. */
#ifndef READER_CHUNK_H
#define READER_CHUNK_H

#include <stdatomic.h>

#include "base/heap.h"
#include "base/workers.h"
#include "reader/chunk_extent.h"

/* A codec block has a few MiB, and the sample that passed them.  What its container adds to small
 * files is counted in. */
#define CHUNK_BLOCK_BYTES ((uint64_t)10 << 20)

/* One record on its way to the caller. */
struct item {
    const uint8_t *data;        /* the frame */
    size_t size;
    union {
        const char *name;       /* has_name: its .lst line */
        struct recall *recall;  /* deferred: that reads it among others; NULL: none */
        uint64_t offset;        /* else: of the frame in the shard, uncompressed */
    };
    uint32_t name_size;
    uint32_t shard;
    uint64_t record;
    struct sheaf_error *bad;    /* the record is bad, and there is no data */
    uint8_t *piece;             /* of the heap, in which data is; NULL: it is in none */
    bool owns;                  /* the piece is for it alone, and has the name behind data */
    bool lent;                  /* the piece goes to the program, too */
    bool deferred;              /* there is no data yet: it is read when it is drawn.  `size` is
                                   of the piece that it needs, if that is known, else 0 */
    bool repeats;               /* it comes once more, to pad its lane */
    bool has_name;
};

void item_free(struct item *item, struct heap *heap);

/* A remote read that is in flight before the job has a worker. */
struct fetch {
    struct store_read read;     /* .object NULL: there is none */
    struct chunk *chunk;
};

struct chunk {
    struct job job;
    struct chunk *next;         /* in the lane's queue */
    const struct sheaf_dataset *dataset;
    struct run *runs;           /* their shards are used by it; none in a stream's */
    size_t run_count;
    size_t count;               /* records */
    bool own_frames;            /* each item has a piece of its own */
    bool is_alone;              /* its item is in no piece; */
    bool is_passing;            /* nor are these, until they are taken */
    bool is_picked;             /* only items with a piece, of whoever made the chunk, are wanted */
    bool shares_block;          /* runs of one record, whose pieces were taken before */
    bool in_pieces;             /* its runs are within one codec block, of which it reads and
                                   unpacks as much as it needs, a little at a time */
    bool is_shrunk;             /* by chunk_shrink */
    volatile int cancelled;     /* nonzero: its job ends soon */
    uint64_t memory_bytes;      /* taken from the budget until the chunk is consumed; */
    uint64_t reserved_bytes;    /* and what was taken as reserved */
    struct workers *workers;    /* that run its job */
    void *stream;               /* of a stream's chunk: the stream */
    bool is_fetched;            /* by chunk_fetch: */
    struct fetch data_fetch, names_fetch;
    atomic_uint fetches_left;
    /* Results. */
    int code;
    struct sheaf_error error;
    uint64_t read_bytes;
    uint64_t passed_over;       /* of a stream's chunk: members of tars that are no sample's; */
    uint64_t lost_bytes;        /* what is behind damage in shards, up to their ends */
    struct item *items;         /* count */
    uint8_t *piece;             /* where their frames are, unless each has its own */
    /* Memory kept for the next chunk that this one becomes, so that a fresh page is not touched
     * for every byte read.  kept_data is for frames on the way to their pieces. */
    struct buf kept_data, kept_names, kept_items, kept_stored, kept_runs;
    bool is_last;               /* of a stream's chunk: nothing comes after it, because of */
    int tail_code;              /* this: SHEAF_OK at the end, or an error, with `error` set */
    bool is_done;               /* its consumer has seen that the job is done */
    size_t taken;               /* items that the lane has taken */
};

/* ---- reader/chunk_memory.c ------------------------------------------------------------------ */

/* What of chunk_memory a chunk of own frames needs only until its job is done. */
uint64_t chunk_passing_bytes(const struct run *runs, size_t run_count, bool in_pieces);
/* What these runs' items take in the heap, each in a piece of its own. */
uint64_t chunk_frames_bytes(const struct run *runs, size_t run_count);
/* The budget that a chunk of these runs needs in addition to pieces of the heap. */
uint64_t chunk_memory(const struct run *runs, size_t run_count, bool own_frames, bool in_pieces);
/* Besides pieces of the heap: of a chunk whose runs share a block, and what it needs while its job
 * runs. */
uint64_t chunk_shared_memory(const struct run *runs, size_t run_count);
uint64_t chunk_shared_passing(const struct run *run, bool in_pieces);
/* Whether the runs can be read in pieces: they are one read, of one block. */
bool chunk_can_be_in_pieces(const struct run *runs, size_t run_count);

/* What a chunk of one record takes at most, in pieces, in a shard like this, whose index is not
 * looked at. */
uint64_t chunk_memory_most(const struct manifest_shard *shard, bool is_packed, bool is_remote);

/* ---- reader/chunk.c ------------------------------------------------------------------------- */

/* Makes the tables of runs and items, and takes a piece of the heap for all their bytes, or for
 * each if the chunk has own frames, or none if it is alone, passing or picked.  SHEAF_END: the heap
 * has no room now. */
int chunk_prepare(struct chunk *chunk, const struct run *runs, size_t run_count,
                  struct heap *heap, struct sheaf_error *err);

/* The same for a chunk whose runs share a block.  `pieces`: of each. */
int chunk_prepare_shared(struct chunk *chunk, const struct run *runs, size_t run_count,
                         uint8_t *const *pieces, struct sheaf_error *err);

/* Makes the chunk one of a single item that is deferred, and done.  It needs so much memory: */
int chunk_prepare_deferred(struct chunk *chunk, uint32_t shard, uint64_t record,
                           struct sheaf_error *err);
#define CHUNK_DEFERRED_BYTES (sizeof(struct chunk) + 2 * sizeof(struct item))

/* Frees what a chunk of own frames, or a passing one, no longer needs once its job is done, and
 * gives the budget back what that took. */
void chunk_shrink(struct chunk *chunk, struct budget *budget);

/* Takes so much of the budget for the chunk; false: it has no room. */
bool chunk_take_memory(struct chunk *chunk, struct budget *budget, uint64_t bytes, bool reserved);
/* Gives the budget back what the chunk took of it. */
void chunk_give_memory(struct chunk *chunk, struct budget *budget);

/* Room for `size` bytes in kept memory, whose content is not kept.  It is no larger than what the
 * budget gave. */
void *chunk_room(struct buf *kept, size_t size, struct sheaf_error *err);

/* Frees what the items from `taken` on own, and empties the chunk, but for the memory it keeps.
 * Its job must be done. */
void chunk_reset(struct chunk *chunk, struct heap *heap);
/* Resets it, and frees all; NULL is fine. */
void chunk_free(struct chunk *chunk, struct heap *heap);

/* Ends the use of its runs' shards. */
void chunk_drop_shards(struct chunk *chunk, struct shards *shards);

/* The memory that a reset chunk keeps. */
size_t chunk_kept_bytes(const struct chunk *chunk);

/* ---- reader/chunk_read.c -------------------------------------------------------------------- */

/* The job's function: chunk->job.run. */
void chunk_run(struct job *job);

/* Starts reading the remote chunk, whose runs are one read, and submits its job once that is done.
 * (A local chunk is read by its job, so that it is checked on the processor whose cache has it.) */
void chunk_fetch(struct chunk *chunk);
/* Makes reads that are under way end soon. */
void chunk_cancel(struct chunk *chunk);

#endif
