/* SPDX-License-Identifier: MIT
 *
 * The open shards of a reader. Each open shard has an open object and the shard's section of the
 * index. All reads of the shard use both of them. A job opens a shard before its records are
 * needed. Some unused shards stay open, because they may be needed again.
 *
 * A reader uses these functions only on the planning thread, the thread that calls the reader. The
 * threads that share a pool of shards (shard_pool.h) use them under the lock of the pool; see also
 * `users` below. A job that opens a shard runs on another thread. Its result may be used only when
 * the job has finished. */
#ifndef READER_SHARDS_H
#define READER_SHARDS_H

#include <stdatomic.h>

#include "base/budget.h"
#include "base/spare.h"
#include "base/workers.h"
#include "reader/dataset/column_sets.h"
#include "reader/dataset/index_files.h"

struct shard {
    struct job job;             /* The shard is open when this job is done. */
    /* If the shard has columns, further jobs run side by side before `job`: `base`, which opens the
     * shard itself, and one job for each column. The last of them to end submits `job`. */
    struct job base;
    atomic_uint jobs_left;      /* number of further jobs that have not ended */
    struct shards *owner;
    uint32_t number;
    /* Number of references to this shard. If it is 0, the shard is unused, and may be closed at any
     * time. The number is atomic, because a thread that has a reference to a shard of a pool
     * (shard_pool.h) takes and drops further references without the lock of the pool. */
    atomic_uint users;
    struct shard *newer, *older;        /* neighbours in the list of idle shards */
    uint64_t memory_bytes;              /* bytes taken from the budget for the index section */
    bool is_reserved;                   /* true if this memory was taken from the reserve */
    /* The following fields are results of the job. */
    int code;
    struct sheaf_error error;
    struct store_object *object;
    struct store_object *names;         /* the .lst file of a RecordIO shard; otherwise NULL */
    char *lines;                        /* content of the .lst file if keep_lines is set */
    const struct index_section *section;
    struct index_section *own_section;  /* NULL if the section belongs to the data set */
    /* one element for each column that the reader reads; NULL if it reads no columns */
    struct shard_column *columns;
    size_t column_count;
    /* memory for the kept records of columns (shard_column.kept); empty if none are kept */
    struct buf room;
};

/* The records of a column for one open shard. A column is a field that was added to a data set, its
 * base, after packing. The open shard is a shard of the base. The records are in shards of the
 * column. */
struct shard_column {
    struct job job;                     /* opens the column */
    struct shard *shard;
    size_t number;                      /* number of the column */
    int code;                           /* result of opening the column */
    struct sheaf_error error;
    struct store_read read;             /* reads the kept records; read.object is NULL if unused */
    const char *url;                    /* URL of the column's shard */
    uint64_t first;                     /* number of the record for the shard's first sample */
    struct store_object *object;        /* NULL if the records are kept */
    /* Offsets of the records in `object`: one for each sample of the open shard, and one for the
     * end of the last record. NULL if the column has no records for this shard. */
    uint64_t *offsets;
    uint32_t *crcs;                     /* the CRC-32C of each record */
    /* The bytes of all records of the column for this shard, if they are kept in memory; otherwise
     * NULL. Their checksums have been verified. This pointer points into shard->room. */
    const uint8_t *kept;
};

struct shards {
    const struct sheaf_dataset *dataset;
    struct workers *workers;
    struct budget *budget;
    struct cache *cache;                /* NULL if there is no cache */
    /* columns that are read with the samples; NULL if only the samples are read */
    const struct columns *columns;
    /* True if the whole .lst file (the names of records) of each open shard is kept in memory,
     * because its lines are not needed in order. */
    bool keep_lines;
    /* While a shard is open, the records that a column has for this shard are kept in memory if
     * they have about this number of bytes or less. Then the fields of the column are added to a
     * sample without another read. 0 if no column is kept. */
    uint64_t kept_most;
    /* true if a truncated shard is read as far as possible */
    bool keep_short;
    struct index_files indexes;
    /* element i is the shard with the number i, or NULL if it is not open */
    struct shard **open;
    struct shard *newest, *oldest;      /* list of idle shards, kept for the next use */
    size_t idle_count, idle_most;       /* number of idle shards, and the largest allowed number */
    uint64_t bytes;                     /* memory of all open shards, idle or in use */
    uint64_t idle_most_bytes;           /* Idle shards are closed if `bytes` exceeds this limit. */
    /* Spare buffers of closed shards and of finished reads. They are not taken from the budget, but
     * they are freed when the budget has no room for them: budget->used + spares.bytes is never
     * greater than budget->limit. */
    struct spares spares;
    /* set to a value other than zero to make the jobs that open shards end soon, for example when
     * the reader is freed */
    volatile int cancelled;
};

/* `cache` may be NULL. */
int shards_init(struct shards *s, const struct sheaf_dataset *dataset, struct workers *workers,
                struct budget *budget, struct cache *cache, struct sheaf_error *err);

/* Takes `bytes` bytes from the memory budget. If too little is left, first closes unused shards. If
 * this is not enough and `may_reserve` is true, takes the bytes from the reserve, which is only for
 * samples that are needed now.
 *
 * Sets *is_reserved to true if the bytes are from the reserve. Returns false if there is not enough
 * memory. */
bool shards_take(struct shards *s, uint64_t bytes, bool may_reserve, bool *is_reserved);
/* Gives back bytes that shards_take has taken. */
void shards_give(struct shards *s, uint64_t bytes, bool is_reserved);
/* No job may be running. */
void shards_free(struct shards *s);

/* Returns the memory that an open shard takes: its structs, index section and kept records. */
uint64_t shards_memory(const struct shards *s, uint32_t number);

/* Takes a reference to a shard. If the shard is not open, begins to open it. If a sample of the
 * shard is needed now (`needed`), may take memory from the reserve. Otherwise sets *shard to NULL
 * and returns SHEAF_ERR_LIMIT if the budget has no room for the index section of the shard. */
int shards_use(struct shards *s, uint32_t number, bool needed, struct shard **shard,
               struct sheaf_error *err);
/* Gives back a reference to a shard. If it was the last reference, the shard is closed, or stays
 * open for later use. `shard` may be NULL. */
void shards_drop(struct shards *s, struct shard *shard);
/* Closes all shards that are not in use. Returns false if there was no such shard. */
bool shards_trim(struct shards *s);
/* Frees spare buffers until the budget has room for the rest. */
void shards_trim_spares(struct shards *s);

/* ---- Columns (shards_columns.c) -------------------------------------------------------------- */

/* Returns the memory in bytes for the kept records of all columns while a shard is open. */
uint64_t shards_kept_bytes(const struct shards *s, uint32_t number);
/* Makes the table shard->columns. */
int shards_add_columns(struct shard *shard, struct sheaf_error *err);
/* Begins jobs that open the columns of a shard. They run side by side, and each of them calls
 * shards_end_job when it has ended. The caller must have counted them in shard->jobs_left. */
void shards_begin_columns(struct shard *shard);
/* Must be called when a job that is counted in shard->jobs_left has ended. After the last of them,
 * submits shard->job. */
void shards_end_job(struct shard *shard);
/* Cancels the requests of the jobs that open the shard's columns, and waits until these jobs
 * end. */
void shards_stop_columns(struct shard *shard);
/* Checks the opened columns. The shard's own section must be in memory. Returns the first error. */
int shards_check_columns(struct shard *shard, struct sheaf_error *err);
/* Closes the columns of a shard. The caller must then call shards_trim_spares, because the memory
 * for kept records becomes a spare buffer. */
void shards_close_columns(struct shard *shard);

/* Checks the record of a column for sample number `record` of the shard. `data` has the bytes of
 * the record. */
int shard_column_check(const struct shard_column *c, uint64_t record, const uint8_t *data,
                       struct sheaf_error *err);

/* Returns the size in bytes of the column's records for `count` samples of the shard, of which
 * sample `first` is the first. */
static inline uint64_t shard_column_bytes(const struct shard_column *c, uint64_t first,
                                          uint64_t count)
{
    return c->offsets == NULL ? 0 : c->offsets[first + count] - c->offsets[first];
}

/* Returns the address of the column's record for sample `record` of the shard. The records of the
 * column must be kept in memory. */
static inline const uint8_t *shard_column_kept(const struct shard_column *c, uint64_t record)
{
    return c->kept + (c->offsets[record] - c->offsets[0]);
}

/* Returns the size in bytes of the records in all columns for `count` samples, from `first` on. */
static inline uint64_t shard_columns_bytes(const struct shard *shard, uint64_t first,
                                           uint64_t count)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < shard->column_count; i++)
        bytes += shard_column_bytes(&shard->columns[i], first, count);
    return bytes;
}

#endif
