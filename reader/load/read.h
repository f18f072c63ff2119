/* SPDX-License-Identifier: MIT
 *
 * A READ brings records of a shard into memory. One job reads the stored bytes of the records,
 * decompresses them and checks them. Each record becomes an ITEM: a frame (stored record) that is
 * correct, or the error that was found in it.
 *
 * The memory for the items has one of two forms. If items lie TOGETHER, the read has one block,
 * with the table of items, the frames as they are stored, and the names of the records. If the
 * shard is not compressed, stored bytes are read directly into the block, without a copy. The block
 * stays in memory until its last item is released. If items lie APART, each item has a piece of
 * memory of its own, with its frame and name. So an item that stays in memory does not keep the
 * others there.
 *
 * The code that begins a read provides this memory. It also decides how codec blocks are
 * decompressed: as a whole, or record by record, so that the whole block need not be in memory. */
#ifndef READER_READ_H
#define READER_READ_H

#include <stdatomic.h>
#include <stdlib.h>

#include "base/workers.h"
#include "reader/load/extent.h"

/* One record on its way to the caller. */
struct item {
    const uint8_t *data;        /* the frame */
    size_t size;
    union {
        const char *name;       /* if has_name: its .lst line */
        uint64_t offset;        /* otherwise: of the frame in the shard, uncompressed */
        /* the reason why the record is bad, if is_bad is set; the item then has neither data nor a
         * name */
        struct sheaf_error *bad;
    };
    uint64_t record;
    uint32_t shard;
    uint32_t name_size;
    bool has_name, is_bad;
    bool repeats;               /* it repeats a sample to pad its lane */
};
_Static_assert(sizeof(struct item) % 16 == 0, "what follows an item is aligned for anything");

/* The record that a sample has in a column. If the reader has columns, one of these structs for
 * each column follows the item (the sample's own record in memory):
 *
 *     | item | column | column | */
struct item_column {
    const uint8_t *data;        /* NULL: there is none */
    uint32_t size;
    uint32_t base_crc;          /* of the item's own record in the index */
};
_Static_assert(sizeof(struct item_column) % 16 == 0, "as for items");

static inline const struct item_column *item_columns(const struct item *item)
{
    return (const struct item_column *)(const void *)(item + 1);
}

/* The size of an item with its columns. */
static inline size_t item_bytes(size_t column_count)
{
    return sizeof(struct item) + column_count * sizeof(struct item_column);
}

struct read_plan {
    const struct run *runs;
    size_t run_count;
    enum read_how how;
    bool apart;
    bool repeats;               /* the value for its items */
};

/* The memory of a read. */
struct read_needs {
    uint64_t work;              /* buffers that are needed until the read has landed */
    uint64_t block;             /* if together: kept until the last item is released */
    uint64_t pieces;            /* if apart: sum of all items, in the heap */
    size_t count;               /* items */
    size_t span;                /* number of items, including the skipped positions before them */
    /* `data`: bytes of the records. `names`: bytes of their names and columns. */
    uint64_t data, names;
};
struct read_needs read_needs_of(const struct read_plan *plan);
/* Returns an upper bound of the memory for a read that brings one record of this shard into a block
 * of its own. This does not require the shard's index section. */
uint64_t read_most(const struct manifest_shard *shard, bool is_packed, bool is_remote);
/* Returns the additional memory that a read of one record needs for the record's columns. `columns`
 * may be NULL. */
uint64_t read_columns_most(const struct columns *columns, uint32_t shard);
/* Returns the size of the memory for one record of an open shard that gets an allocation of its
 * own. */
size_t read_piece_bytes(const struct shard *shard, uint64_t record);

/* The bytes of a read are divided into portions: one for the stored bytes of the records, one for
 * their .lst lines, and one for each column. READ_PORTIONS is the number of portions without those
 * of columns. */
#define READ_PORTIONS 2u

/* A request to a remote store for one portion of a read's bytes. It is sent before a worker runs
 * the read's job. */
struct fetch {
    struct store_read read;     /* .object is NULL if there is none */
    struct work *work;
};

/* Facts about streams that are counted while they are read. */
struct stream_counts {
    uint64_t passed_over;       /* number of tar members that belong to no sample */
    /* number of bytes that were lost because the rest of a damaged shard could not be read, over
     * all shards */
    uint64_t lost_bytes;
    /* number of samples whose key an earlier sample of the same shard also has */
    uint64_t repeated_keys;
};

/* Adds `sign` times the counts. */
static inline void stream_counts_add(struct stream_counts *to, const struct stream_counts *counts,
                                     int sign)
{
    to->passed_over += (uint64_t)sign * counts->passed_over;
    to->lost_bytes += (uint64_t)sign * counts->lost_bytes;
    to->repeated_keys += (uint64_t)sign * counts->repeated_keys;
}

/* The buffers that a read needs until it has finished. They are kept for later reads, so that not
 * every read has to touch new pages of memory. */
struct work {
    struct job job;
    struct work *next;          /* in the list of spare buffers */
    struct read *read;
    const struct sheaf_dataset *dataset;
    struct run *runs;           /* their shards are in use */
    size_t run_count;
    enum read_how how;
    volatile int cancelled;     /* not zero: the job ends soon */
    bool is_fetched;
    struct fetch *fetches;      /* in `tables`, one for each portion */
    size_t fetch_count;
    uint64_t data_bytes, names_bytes;   /* as in read_needs */
    atomic_uint fetches_left;
    struct buf data, names, stored, tables;     /* `names` has the columns' records, too */
    uint64_t memory_bytes, reserved_bytes;      /* taken from the budget; */
    /* Results. */
    int code;
    struct sheaf_error error;
    uint64_t read_bytes;
    struct stream_counts counts;
};

struct read {
    struct read *next;          /* in its queue */
    struct read *newer, *older; /* in the list of all reads */
    /* working buffers; NULL if the read has finished and belongs to no stream */
    struct work *work;
    struct workers *workers;    /* the threads that run its job */
    size_t item_bytes;          /* size of an item with its columns */
    uint64_t at;                /* the first position of its queue that it has, */
    /* `span` is the number of positions that the read covers. `taken` is the number of these
     * positions that the queue has already returned. */
    size_t span, taken;
    size_t users;               /* number of references to it */
    /* if the read's records lie in one block: their items (structs that describe them), each
     * followed by its columns; otherwise NULL */
    struct item *table;
    /* if each record has an allocation of its own: pointers to the items (structs that describe the
     * records); NULL for a position that is skipped */
    struct item **each;
    uint8_t *block;             /* if together: the table and all frames; */
    /* size of `block` if it was allocated by malloc, and its bytes were taken from the memory
     * budget; 0 if it is a piece of the heap of samples */
    uint64_t alone_bytes;
    bool is_reserved;           /* as reserved */
    bool repeats;
    bool is_remote;
    bool has_landed;
    int code;                   /* result, valid once it has landed */
    struct sheaf_error *error;  /* NULL: none */
    uint64_t bytes;             /* number of bytes that were read */
    size_t bad_count;           /* the value for its items */
    struct stream *stream;      /* the stream that fills it; else NULL */
    /* for a stream: SHEAF_END or an error if the stream ends after this read; otherwise SHEAF_OK */
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

/* Makes a buffer of exactly `size` bytes. The former content of the buffer is lost. */
void *work_room(struct buf *buf, size_t size, struct sheaf_error *err);
uint64_t work_kept_bytes(const struct work *work);
void work_free(struct work *work);                      /* NULL is allowed */

/* Prepares a read for this plan. The caller must then provide the memory for the records: one block
 * (read_set_block), or one allocation for each record (read->each). */
int read_open(struct read *read, struct work *work, const struct read_plan *plan,
              const struct sheaf_dataset *dataset, struct workers *workers,
              struct sheaf_error *err);
/* Sets the block of memory for the read's records. The block begins with the table of the items,
 * which describe the records. */
void read_set_block(struct read *read, uint8_t *block);
void read_drop_shards(struct work *work, struct shards *shards);

/* ---- reader/load/read_job.c ------------------------------------------------------------------ */

/* Begins the read. Its job does all the work of a local read, so that the same processor reads and
 * checks the bytes while they are in its cache. */
void read_start(struct read *read);
/* Runs the job on this thread. */
void read_run(struct read *read);
/* Makes the read end soon. */
void read_cancel(struct read *read);

#endif
