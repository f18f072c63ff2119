/* SPDX-License-Identifier: MIT
 *
 * A READ brings records of a shard into memory. It is one job, which reads the stored bytes,
 * decompresses them and checks the records. The result for each record is an ITEM: its frame (the
 * record as it is stored), or the error that was found.
 *
 * The items of a read lie TOGETHER or APART. If they lie together, one block of memory has a table
 * of the items, the frames, and the names of the records. The block stays in memory until its last
 * item is released.
 *
 * If the items lie apart, each item has a piece of memory of its own, with its frame and its name.
 * Then an item that stays in memory does not keep the others in memory.
 *
 * The code that begins a read provides the memory for the items. It also decides whether codec
 * blocks are decompressed completely or record by record (step_bytes). */
#ifndef READER_READ_H
#define READER_READ_H

#include <stdatomic.h>
#include <stdlib.h>

#include "base/workers.h"
#include "reader/load/extent.h"

/* One record on its way to the caller. */
struct item {
    const uint8_t *data;        /* the frame (stored record) */
    size_t size;
    union {
        /* if has_name is set: the record's line of the .lst file */
        const char *name;
        uint64_t offset;        /* otherwise: offset of the frame in the uncompressed shard */
        /* If is_bad is set: the error of the record. `name` is not valid then. `data` is NULL, or
         * the damaged bytes of the record if the items lie together. */
        struct sheaf_error *bad;
    };
    uint64_t record;
    uint32_t shard;
    uint32_t name_size;
    bool has_name, is_bad;
    bool repeats;               /* true if it repeats a sample as padding */
};
_Static_assert(sizeof(struct item) % 16 == 0, "what follows an item is aligned for anything");

/* The record of a sample in a column, which is a field that was added to the data set after
 * packing. An item has the sample's own record. If the reader has columns, each item is followed by
 * one of these structs for each column:
 *
 *     | item | column | column | */
struct item_column {
    /* bytes of the record; NULL if the column has no record for the sample */
    const uint8_t *data;
    uint32_t size;
    /* Checksum of the sample's own record, from the index of the data set. The column's record must
     * contain the same checksum. */
    uint32_t base_crc;
};
_Static_assert(sizeof(struct item_column) % 16 == 0, "as for items");

static inline const struct item_column *item_columns(const struct item *item)
{
    return (const struct item_column *)(const void *)(item + 1);
}

/* Returns the size of a struct item and the structs for its columns, in bytes. */
static inline size_t item_bytes(size_t column_count)
{
    return sizeof(struct item) + column_count * sizeof(struct item_column);
}

struct read_plan {
    const struct run *runs;
    size_t run_count;
    /* 0 if all codec blocks of the read are decompressed completely, or if the shard is not
     * compressed. Otherwise the records must lie in a single block. Only these records are
     * decompressed, each directly to its destination, and the stored bytes of the block are read in
     * steps of this number of bytes. Only the bytes of one step are in memory at a time. */
    uint64_t step_bytes;
    bool apart;
};

/* The memory of a read. */
struct read_needs {
    uint64_t work;              /* buffers that are needed until the job has finished */
    /* Size in bytes of the block with all items, if they lie together. The block is kept until its
     * last item is released. 0 if each item has an allocation of its own. */
    uint64_t block;
    /* Total size in bytes of the items' allocations, if each item has one. They are in the heap of
     * the loader, or come from malloc if it has no heap. 0 if the items lie together in one
     * block. */
    uint64_t pieces;
    size_t count;               /* number of items */
    size_t span;                /* number of items, including the skipped positions before them */
    uint64_t tables;            /* size of the tables of the read in bytes */
    uint64_t stored;            /* size of the buffer for stored bytes of codec blocks */
    /* `data` is the size of the memory for the uncompressed records. It is 0 if each record is
     * decompressed directly to an allocation of its own. `beside` is the size of the bytes that the
     * records have outside the shard (extent_beside). */
    uint64_t data, beside;
};
struct read_needs read_needs_of(const struct read_plan *plan);
/* Returns the size in bytes of the buffer for the stored bytes of codec blocks, if a read in steps
 * of `step_bytes` bytes needs `stored` stored bytes. */
static inline uint64_t read_stored_room(uint64_t step_bytes, uint64_t stored)
{
    return step_bytes != 0 && step_bytes < stored ? step_bytes : stored;
}
/* Returns an upper bound, in bytes, for the memory that is needed to read a single record of this
 * shard. Computed from the manifest only, so the index section of the shard need not be in
 * memory. */
uint64_t read_most(const struct manifest_shard *shard, bool is_packed, bool is_remote);
/* Returns the memory in bytes that a read of one record needs for the columns of its sample. It is
 * not included in read_most. `columns` may be NULL. */
uint64_t read_columns_most(const struct columns *columns, uint32_t shard);
/* Returns the size in bytes of an allocation for one record alone. The shard must be open. */
size_t read_piece_bytes(const struct shard *shard, uint64_t record);

/* The bytes of a read come in portions: one for the stored bytes of the records, one for their
 * lines in the .lst file, and one for each column. READ_PORTIONS is the number of portions without
 * columns. */
#define READ_PORTIONS 2u

/* A portion of a read's bytes. If the shard is remote, all portions are requested before a worker
 * thread runs the job of the read. Otherwise the job reads them. */
struct portion {
    /* the bytes and their destination; read.object is NULL if they are not read from an object */
    struct store_read read;
    struct work *work;
};

/* Numbers that are counted while the records of streams are read. */
struct stream_counts {
    uint64_t passed_over;       /* number of tar members that belong to no sample */
    /* number of bytes in all shards that were lost because the rest of a damaged shard could not be
     * read */
    uint64_t lost_bytes;
    /* number of samples that have the same key as an earlier sample of the same shard */
    uint64_t repeated_keys;
};

/* Adds `counts`, multiplied by `sign`, to `to`. */
static inline void stream_counts_add(struct stream_counts *to, const struct stream_counts *counts,
                                     int sign)
{
    to->passed_over += (uint64_t)sign * counts->passed_over;
    to->lost_bytes += (uint64_t)sign * counts->lost_bytes;
    to->repeated_keys += (uint64_t)sign * counts->repeated_keys;
}

/* Data that a read needs until it has finished. Its buffer is then kept for later reads. Otherwise
 * each read would have to map new pages of memory. */
struct work {
    struct job job;
    /* The buffer of the read. It has the following tables, then the memory at `stored` and the
     * memory at `data`. A stream has its samples in it. */
    struct buf room;
    struct buf items;           /* used only in a stream: the items of its samples */
    struct read *read;
    const struct sheaf_dataset *dataset;
    /* runs (ranges of records) of the read, whose shards are in use */
    struct run *runs;
    size_t run_count;
    uint64_t step_bytes;        /* see struct read_plan */
    volatile int cancelled;     /* If it is not zero, the job ends soon. */
    bool is_fetched;            /* true if the portions were requested in advance */
    struct portion *portions;
    size_t portion_count;
    struct unpack_part *parts;  /* table for the parts of a codec block that are needed */
    atomic_uint fetches_left;
    uint8_t *stored;            /* memory for the stored bytes of codec blocks */
    /* If each item has an allocation of its own: memory for uncompressed bytes. The lines of the
     * .lst file and the records of columns follow after `data_bytes` bytes. If all items lie in one
     * block of memory, these bytes are in the block instead. */
    uint8_t *data;
    uint64_t data_bytes;
    uint64_t memory_bytes, reserved_bytes;      /* bytes taken from the budget */
    /* Results. */
    int code;
    struct sheaf_error error;
    uint64_t read_bytes;
    struct stream_counts counts;
};

struct read {
    struct read *next;          /* next read of the same queue */
    struct read *newer, *older; /* neighbours in the list of all reads */
    /* Buffers of the read. NULL if the read has finished. The reads of a stream keep their buffers
     * until they are freed. */
    struct work *work;
    /* the threads that run its job; NULL if its job runs on the thread that begins the read */
    struct workers *workers;
    size_t item_bytes;          /* size of an item with its columns */
    uint64_t at;                /* first position of its queue that the read covers */
    /* `span` is the number of positions of the sequence for which the read has samples. The queue
     * has already returned the samples of the first `taken` positions. */
    size_t span, taken;
    size_t users;               /* number of references to it */
    /* If the records lie together: the block of memory for all of them. It begins with the table of
     * their items, in which each item is followed by its columns. Otherwise NULL. */
    struct item *table;
    /* If each record has an allocation of its own: pointers to the items that describe the records,
     * one for each position. A pointer is NULL if the position was skipped, because its sample is
     * not read now. */
    struct item **each;
    /* If the block was allocated by malloc: its size in bytes, which was taken from the memory
     * budget. 0 if the block is in the heap for samples. */
    uint64_t alone_bytes;
    bool is_reserved;           /* true if the memory is from the reserve */
    bool is_remote;
    bool has_landed;
    int code;                   /* result, valid when the job has finished */
    struct sheaf_error *error;  /* NULL if there is no error */
    uint64_t bytes;             /* number of bytes that were read */
    size_t bad_count;           /* number of bad records */
    /* the stream that fills the read; NULL if it is not a read of a stream */
    struct stream *stream;
    /* If a stream ends after this read: SHEAF_END, or the error with which it ends. Otherwise
     * SHEAF_OK. */
    int tail_code;
};

static inline void item_free_error(struct item *item)
{
    if (item->is_bad)
        free(item->bad);
    item->is_bad = false;
}

static inline struct item *read_item(const struct read *r, size_t i)
{
    return r->table == NULL ? r->each[i]
         : (struct item *)(void *)((char *)r->table + i * r->item_bytes);
}

uint64_t work_kept_bytes(const struct work *work);
void work_free(struct work *work);                      /* `work` may be NULL. */

/* Prepares a read by `plan`, whose memory is `needs`, the result of read_needs_of(plan). The caller
 * must then provide the memory for the records: one block for all (read->table), or one allocation
 * for each (read->each). */
int read_open(struct read *read, struct work *work, const struct read_plan *plan,
              const struct read_needs *needs, const struct sheaf_dataset *dataset,
              struct workers *workers, struct sheaf_error *err);

/* ---- reader/load/read_job.c ------------------------------------------------------------------ */

/* Begins the read. For a remote shard, sends the requests of the read first, and starts its job
 * when all requests are answered. For a local shard, the job does everything: it reads,
 * decompresses and checks the bytes. So the bytes stay in the cache of one processor. If the read
 * has no threads, runs the job on this thread. */
void read_start(struct read *read);
/* Makes the read end soon. */
void read_cancel(struct read *read);

#endif
