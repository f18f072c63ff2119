/* SPDX-License-Identifier: MIT
 *
 * A chunk: a run of consecutive records of one shard, read, unpacked and checked by one job.
 *
 *     plan (records first .. first + count - 1) --job--> items, each a frame that is right, or
 *                                                        the error that says why it is not
 *
 * Frames either lie together in the chunk's buffer (sequential reading: no copy is made after
 * the kernel's) or, for a shuffle buffer, each in memory of its own, so that one sample does not
 * hold back its neighbours. */
#ifndef READER_CHUNK_H
#define READER_CHUNK_H

#include <stdatomic.h>

#include "base/workers.h"
#include "reader/shard.h"

/* One record on its way to the caller. */
struct item {
    uint8_t *data;              /* the frame */
    size_t size;
    const char *name;           /* its .lst line, or NULL */
    uint32_t name_size;
    uint32_t shard;
    uint64_t record;
    struct sheaf_error *bad;    /* the record is bad, and there is no data */
    bool owned;                 /* data (with the name behind it) is memory of its own */
    uint64_t own_bytes;         /* taken from the budget for it */
};

/* What an item takes of the budget besides its place in a table. */
static inline uint64_t item_memory(const struct item *item)
{
    return item->own_bytes;
}

void item_free(struct item *item);

/* A read that is under way before the job has a worker (from afar only). */
struct fetch {
    struct store_read read;     /* .object NULL: there is none */
    struct chunk *chunk;
};

struct chunk {
    struct job job;
    struct chunk *next;         /* in the lane's queue */
    const struct sheaf_dataset *dataset;
    struct shard *shard;        /* used by it; NULL for a stream's */
    uint64_t first;             /* record in the shard */
    size_t count;
    bool own_frames;
    uint64_t memory_bytes;      /* taken from the budget until the chunk is consumed; its items'
                                   own memory is apart */
    struct workers *workers;    /* that run its job */
    void *stream;               /* of a stream's chunk: the stream */
    bool is_fetched;            /* by chunk_fetch: */
    struct fetch data_fetch, names_fetch;
    atomic_uint fetches_left;
    /* Results. */
    int code;
    struct sheaf_error error;
    uint64_t read_bytes;
    struct item *items;         /* count */
    uint8_t *data;
    char *names;
    /* Memory kept for the next chunk that this one becomes: data, names and items point into it,
     * so that a fresh page is not touched for every byte read. */
    struct buf kept_data, kept_names, kept_items, kept_stored;
    bool is_last;               /* of a stream's chunk: nothing comes after it, because of */
    int tail_code;              /* this: SHEAF_OK at the end, or an error, with `error` set */
    bool is_done;               /* its consumer has seen that the job is done */
    size_t taken;               /* items that the lane has taken */
};

/* The budget that a chunk of these records will need: *own for items, the rest. */
uint64_t chunk_memory(const struct shard *shard, uint64_t first, size_t count, bool own_frames,
                      uint64_t *own);

/* What of *own belongs to item i, whether or not the item turned out well. */
uint64_t chunk_item_memory(const struct chunk *chunk, size_t i);

/* The job's function: chunk->job.run. */
void chunk_run(struct job *job);

/* Begins to read the chunk from afar, and submits its job once that is done.  (A local chunk is
 * read by its job, so that it is checked on the processor whose cache has it.) */
void chunk_fetch(struct chunk *chunk);
/* Makes reads that are under way end soon. */
void chunk_cancel(struct chunk *chunk);

/* Frees what the items from `taken` on own, and empties the chunk, but for the memory it keeps.
 * Its job must be done. */
void chunk_reset(struct chunk *chunk);
void chunk_free(struct chunk *chunk);       /* resets it, and frees all; NULL is fine */

/* The memory that a reset chunk keeps. */
size_t chunk_kept_bytes(const struct chunk *chunk);

#endif
