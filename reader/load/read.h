/* SPDX-License-Identifier: MIT
 *
 * A READ brings records of a shard into memory: one job gets their stored bytes, unpacks and checks
 * them.
 *
 *     runs of records --job--> items, each a frame that is right, or the error that says why it is
 *                              not
 *
 * Each record is an ITEM.  Items lie TOGETHER in the read's block, which is read into without a
 * copy and stays until the last of them is given up:
 *
 *     block:   | item | item | ... | frames as they are stored ............ | names |
 *
 * or APART, each in a piece of its own, where one that stays must not hold back the others:
 *
 *     piece:   | item | frame | name |
 *
 * Whoever makes a read gives it that memory, and says how a codec's blocks are unpacked: whole, or
 * for single records, which then need not be all in memory. */
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
        const char *name;       /* has_name: its .lst line */
        uint64_t offset;        /* else: of the frame in the shard, uncompressed */
        struct sheaf_error *bad;    /* is_bad: why; there is no data, and no name */
    };
    uint64_t record;
    uint32_t shard;
    uint32_t name_size;
    bool has_name, is_bad;
    bool repeats;               /* it comes once more, to pad its lane */
};
_Static_assert(sizeof(struct item) % 16 == 0, "what follows an item is aligned for anything");

struct read_plan {
    const struct run *runs;
    size_t run_count;
    enum read_how how;
    bool apart;
    bool repeats;               /* of its items */
};

/* The memory that it takes. */
struct read_needs {
    uint64_t work;              /* until it has landed; */
    uint64_t block;             /* together: until its last item is given up; */
    uint64_t pieces;            /* apart: of all items, in the heap */
    size_t count;               /* items */
    size_t span;                /* and those that are skipped before one */
};
struct read_needs read_needs_of(const struct read_plan *plan);
/* A read of one record that comes together needs no more than this, in a shard like this, whose
 * index is not looked at. */
uint64_t read_most(const struct manifest_shard *shard, bool is_packed, bool is_remote);
/* The piece of one item. */
size_t read_piece_bytes(const struct index_section *section, uint64_t record);

/* A remote read that is under way before the job has a worker. */
struct fetch {
    struct store_read read;     /* .object NULL: there is none */
    struct work *work;
};

/* What a read has until it has landed.  The buffers are kept for the next one, so that a fresh page
 * is not touched for every byte read. */
struct work {
    struct job job;
    struct work *next;          /* of those that are kept */
    struct read *read;
    const struct sheaf_dataset *dataset;
    struct run *runs;           /* their shards are in use */
    size_t run_count;
    enum read_how how;
    volatile int cancelled;     /* nonzero: its job ends soon */
    bool is_fetched;
    struct fetch data_fetch, names_fetch;
    atomic_uint fetches_left;
    struct buf data, names, stored, tables;
    uint64_t memory_bytes, reserved_bytes;      /* of the budget; */
    /* Results. */
    int code;
    struct sheaf_error error;
    uint64_t read_bytes;
    uint64_t passed_over;       /* of a stream: members of tars that are no sample's; */
    uint64_t lost_bytes;        /* what is behind damage in shards, up to their ends */
    uint64_t repeated_keys;     /* of a stream: samples whose key came before in their shard */
};

struct read {
    struct read *next;          /* in the queue that it is for */
    struct read *newer, *older; /* of all that there are */
    struct work *work;          /* NULL: it has landed, and is of no stream */
    struct workers *workers;    /* that run its job */
    uint64_t at;                /* the first position of its queue that it brings, */
    size_t span, taken;         /* how many, and those that the queue has given out */
    size_t users;               /* what refers to it */
    struct item *table;         /* together, `span` of them; else NULL */
    struct item **each;         /* apart: where each is; NULL: it is skipped */
    uint8_t *block;             /* together: the table and all frames; */
    uint64_t alone_bytes;       /* it is no piece of the heap, and took this of the budget; */
    bool is_reserved;           /* as reserved */
    bool repeats;
    bool is_remote;
    bool has_landed;
    int code;                   /* once it has landed */
    struct sheaf_error *error;  /* NULL: none */
    uint64_t bytes;             /* that were read */
    size_t bad_count;           /* of its items */
    struct stream *stream;      /* that fills it; else NULL */
    bool is_last;               /* of a stream: nothing comes after it, because of */
    int tail_code;              /* this: SHEAF_OK at the end, or an error */
};

static inline void item_free_error(struct item *item)
{
    if (item->is_bad)
        free(item->bad);
    item->is_bad = false;
}

static inline struct item *read_item(const struct read *r, size_t i)
{
    return r->table != NULL ? &r->table[i] : r->each[i];
}

/* Room for `size` bytes in a buffer, whose content is not kept; it is no larger than that. */
void *work_room(struct buf *buf, size_t size, struct sheaf_error *err);
uint64_t work_kept_bytes(const struct work *work);
void work_free(struct work *work);                      /* NULL is fine */

/* Makes it the read of this plan.  Its items' memory is still to be given: `block`, whose table
 * this sets then, or `each`. */
int read_open(struct read *read, struct work *work, const struct read_plan *plan,
              const struct sheaf_dataset *dataset, struct workers *workers,
              struct sheaf_error *err);
/* Says where in its block the table is. */
void read_set_block(struct read *read, uint8_t *block);
void read_drop_shards(struct work *work, struct shards *shards);

/* ---- reader/load/read_job.c ------------------------------------------------------------------ */

/* Begins it.  (A local one is read by its job, so that it is checked on the processor whose cache
 * has it.) */
void read_start(struct read *read);
/* Does it here. */
void read_run(struct read *read);
/* Makes it end soon. */
void read_cancel(struct read *read);

#endif
