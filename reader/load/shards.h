/* SPDX-License-Identifier: MIT
 *
 * The open shards: each has its object and its index section, is shared by all that read it, and is
 * opened by a job before it is needed.  Some that nobody uses any more stay open for the next.
 *
 * Used by the planning thread only, but for what the jobs fill in: a shard's result is to be
 * looked at after its job is done. */
#ifndef READER_SHARDS_H
#define READER_SHARDS_H

#include "base/budget.h"
#include "base/workers.h"
#include "reader/dataset/dataset.h"
#include "store/cache.h"
#include "store/store.h"

struct shard {
    struct job job;
    struct shards *owner;
    uint32_t number;
    unsigned users;                     /* 0: it is idle, and may be closed at any time */
    struct shard *newer, *older;        /* of those that are idle */
    uint64_t memory_bytes;              /* taken from the budget for the section; */
    bool is_reserved;                   /* it was taken as reserved */
    /* The job's results. */
    int code;
    struct sheaf_error error;
    struct store_object *object;
    struct store_object *names;         /* RecordIO: the .lst; else NULL; */
    char *lines;                        /* or, where lines are kept, all of it */
    const struct index_section *section;
    struct index_section *own_section;  /* NULL: it is the data set's */
};

/* The index of a part of a source. */
struct index_file {
    struct store_object *object;        /* NULL: it has none, or it is opened when it is read */
    uint8_t *data;                      /* all of it, if it is far away and small; else NULL */
};

struct shards {
    const struct sheaf_dataset *dataset;
    struct workers *workers;
    struct budget *budget;
    struct cache *cache;                /* NULL: none */
    bool keep_lines;                    /* of each .lst: its lines are not wanted in order */
    bool keep_short;                    /* a shard that is cut is read as far as it goes */
    struct index_file *indexes;         /* of each part of each source */
    struct shard **open;                /* by number; NULL: not open */
    struct shard *newest, *oldest;      /* that are idle: kept for the next use, */
    size_t idle_count, idle_most;       /* so many at most, */
    uint64_t idle_bytes, idle_most_bytes;       /* with so many bytes of memory */
    volatile int cancelled;             /* raised: what is being opened is not wanted any more */
};

/* `cache` may be NULL. */
int shards_init(struct shards *s, const struct sheaf_dataset *dataset, struct workers *workers,
                struct budget *budget, struct cache *cache, struct sheaf_error *err);

/* Opens an object, to be read through the cache if there is one. */
int shards_open_object(struct cache *cache, const char *url, struct store_object **object,
                       struct sheaf_error *err);
/* No job may be running. */
void shards_free(struct shards *s);

/* The memory that an open shard takes. */
uint64_t shards_memory(const struct shards *s, uint32_t number);

/* Begins to open a shard, or takes part in one that is open.  SHEAF_ERR_LIMIT if the budget has
 * no room for its section. */
int shards_use(struct shards *s, uint32_t number, struct shard **shard, struct sheaf_error *err);
/* The same, with what is reserved. */
int shards_use_reserved(struct shards *s, uint32_t number, struct shard **shard,
                        struct sheaf_error *err);
/* It becomes idle with its last user, or is closed.  NULL is fine. */
void shards_drop(struct shards *s, struct shard *shard);
/* Closes all that are idle.  False: there are none. */
bool shards_trim(struct shards *s);

/* Gives up the index that is kept in memory, if it is: sections are then read one by one.  No shard
 * may be open. */
void shards_drop_index(struct shards *s);

#endif
