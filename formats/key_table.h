/* SPDX-License-Identifier: MIT
 *
 * dataset.keys: the numbers of a data set's samples by their keys, in a table of hashes.
 *
 *     header | entry | entry | ...            | record | record | ...
 *              bucket 0 | bucket 1 | ...        where bucket 0 ends, bucket 1, ...
 *
 * Keys themselves are not in it: an entry is a candidate, and its sample says whether it has the
 * key.  Where everything lies follows from the number of samples alone.  So a lookup takes two
 * reads, a record's and a bucket's, and both are checked by sums in which the fingerprint of the
 * manifest is, so that the table of another data set, or of an earlier state of this one, is
 * refused.  formats/FORMATS.md has the bytes. */
#ifndef FORMATS_KEY_TABLE_H
#define FORMATS_KEY_TABLE_H

#include <stdbool.h>
#include <string.h>
#include <xxhash.h>

#include "base/buf.h"
#include "base/sort.h"
#include "sheaf.h"

#define KEY_TABLE_HEADER 64
#define KEY_TABLE_SAMPLES_MOST ((uint64_t)1 << 48)

static inline uint64_t key_hash(const char *key)
{
    return XXH3_64bits(key, strlen(key));
}

/* What the place of everything follows from. */
struct key_table {
    char fingerprint[33];
    uint64_t samples, buckets;
    size_t entry_bytes;
    uint64_t bytes;             /* of the file */
};

/* SHEAF_ERR_LIMIT: more samples than a table can have. */
int key_table_make(struct key_table *table, const char *fingerprint, uint64_t samples,
                   struct sheaf_error *err);

/* The bucket of a key.  The table must have samples. */
uint64_t key_table_bucket(const struct key_table *table, uint64_t hash);

/* Whether a file begins like a table of keys. */
bool key_table_begins(const uint8_t *data, size_t size);
/* SHEAF_ERR_CHANGED: the header is that of another data set's table. */
int key_table_check_header(const struct key_table *table, const uint8_t *header,
                           struct sheaf_error *err);

/* Some bytes of the file. */
struct key_range {
    uint64_t offset;
    size_t size;
};

/* Where the records are that say where a bucket is: two, or one of the first bucket. */
struct key_range key_table_records(const struct key_table *table, uint64_t bucket);

/* A bucket as its record has it. */
struct key_bucket {
    struct key_range range;
    uint32_t sum;               /* of its bytes */
};

/* `records`: the bytes of key_table_records. */
int key_table_find_bucket(const struct key_table *table, uint64_t bucket, const uint8_t *records,
                          struct key_bucket *found, struct sheaf_error *err);
int key_table_check_bucket(const struct key_table *table, const struct key_bucket *bucket,
                           const uint8_t *data, struct sheaf_error *err);
/* Finds the next sample that may have a key with this hash, in a bucket that was checked, from byte
 * *at on.  Returns whether it found one. */
bool key_table_next(const struct key_table *table, const struct key_bucket *bucket,
                    const uint8_t *data, uint64_t hash, size_t *at, uint64_t *number);

/* What an entry adds to the sum of all entries, by which tables are compared whatever their order:
 * as it should be, and as it is at a place in a bucket. */
uint64_t key_table_part(const struct key_table *table, uint64_t hash, uint64_t number);
uint64_t key_table_part_at(const struct key_table *table, uint64_t bucket, const uint8_t *entry);

/* ---- Writing --------------------------------------------------------------------------------- */

typedef int key_table_put_fn(void *context, const void *data, size_t size,
                             struct sheaf_error *err);

/* Gives the sort the key of the next sample; they come in the order of their numbers. */
int key_table_add(struct sort *sort, uint64_t hash, uint64_t number, struct sheaf_error *err);
/* Sorts them, and writes the file with `put`, from its start to its end.  SHEAF_ERR_MISMATCH: they
 * are not as many as the table has samples. */
int key_table_write(const struct key_table *table, struct sort *sort, key_table_put_fn *put,
                    void *context, struct sheaf_error *err);

#endif
