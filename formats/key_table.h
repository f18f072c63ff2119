/* SPDX-License-Identifier: MIT
 *
 * dataset.keys is a hash table that finds the number of a sample by its key. formats/FORMATS.md
 * specifies the layout of the file.
 *
 * The file has a header, one entry for each sample, and one record for each bucket. A bucket is a
 * range of entries. The hash of a key determines the bucket, and the bucket's record states where
 * the bucket ends.
 *
 * A lookup takes two reads. The first one gets the record of the bucket, and the record of the
 * bucket before it, whose end is where the bucket begins. The second one gets the bucket. The
 * positions of the records follow from the number of samples.
 *
 * The table does not contain the keys themselves. An entry holds a part of the key's hash and the
 * number of a sample. Only the sample itself shows whether it really has the key.
 *
 * The checksum of each record covers the fingerprint of the data set. So the table of another data
 * set, or of an earlier state of this data set, is refused. */
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

/* The values from which all positions follow. */
struct key_table {
    char fingerprint[33];
    uint64_t samples, buckets;
    size_t entry_bytes;
    uint64_t bytes;             /* size of the file in bytes */
};

/* Fills `table` with the values from which the positions in dataset.keys follow. `samples` is the
 * number of samples now. `keyed` is the number of samples when the table was first made; edits may
 * have removed some of them since. Returns SHEAF_ERR_LIMIT if there are more samples than a table
 * can have. */
int key_table_make(struct key_table *table, const char *fingerprint, uint64_t samples,
                   uint64_t keyed, struct sheaf_error *err);

/* Returns the number of the bucket in which a key with this hash would be. The table must have at
 * least one sample. */
uint64_t key_table_bucket(const struct key_table *table, uint64_t hash);

/* Returns whether the data begins with the magic number of dataset.keys (the table of keys). */
bool key_table_begins(const uint8_t *data, size_t size);
/* Checks the header of dataset.keys. Returns SHEAF_ERR_CHANGED if the table belongs to another data
 * set, or to another state of this data set. */
int key_table_check_header(const struct key_table *table, const uint8_t *header,
                           struct sheaf_error *err);

/* Some bytes of the file. */
struct key_range {
    uint64_t offset;
    size_t size;
};

/* Returns the range of dataset.keys that must be read to find out where a bucket begins and ends.
 * The range has the bucket's own record and, except for the first bucket, the record of the bucket
 * before it. */
struct key_range key_table_records(const struct key_table *table, uint64_t bucket);

/* A bucket, as its record describes it. */
struct key_bucket {
    struct key_range range;
    uint32_t sum;               /* checksum of its bytes */
};

/* `records`: the bytes of key_table_records. */
int key_table_find_bucket(const struct key_table *table, uint64_t bucket, const uint8_t *records,
                          struct key_bucket *found, struct sheaf_error *err);
int key_table_check_bucket(const struct key_table *table, const struct key_bucket *bucket,
                           const uint8_t *data, struct sheaf_error *err);
/* Searches the bytes of a bucket, from the offset *at to the end, for an entry that may belong to a
 * key with this hash. If there is such an entry, sets *number to the number of its sample, sets *at
 * to the end of the entry, and returns true. Otherwise returns false. The caller must have verified
 * the bucket's checksum. */
bool key_table_next(const struct key_table *table, const struct key_bucket *bucket,
                    const uint8_t *data, uint64_t hash, size_t *at, uint64_t *number);

/* Return a hash of one entry of the table. To compare two tables, add up these hashes for each
 * table. If the sums are equal, the tables have the same entries, in any order. The first function
 * takes the hash of a key and the number of its sample. The second function takes an entry in a
 * bucket. */
uint64_t key_table_part(const struct key_table *table, uint64_t hash, uint64_t number);
uint64_t key_table_part_at(const struct key_table *table, uint64_t bucket, const uint8_t *entry);

/* ---- Writing --------------------------------------------------------------------------------- */

typedef int key_table_put_fn(void *context, const void *data, size_t size,
                             struct sheaf_error *err);

/* Adds the key of the next sample to `sort`, which will order the entries of the table. The caller
 * must add samples in the order of their numbers. */
int key_table_add(struct sort *sort, uint64_t hash, uint64_t number, struct sheaf_error *err);
/* Sorts the keys that were added, and passes the whole table from start to end to `put`. Returns
 * SHEAF_ERR_MISMATCH if the number of keys differs from the number of samples in `table`. */
int key_table_write(const struct key_table *table, struct sort *sort, key_table_put_fn *put,
                    void *context, struct sheaf_error *err);

/* ---- Editing --------------------------------------------------------------------------------- */

typedef int key_table_get_fn(void *context, uint64_t offset, void *data, size_t size,
                             struct sheaf_error *err);
/* Returns the number that a sample has after an edit, or UINT64_MAX if the edit removed the
 * sample. */
typedef uint64_t key_table_number_fn(const void *context, uint64_t number);

/* Describes an edit that removed some samples and so turns the table of keys `from` into the table
 * `to`. Both tables have the same number of buckets, so each remaining key stays in its bucket.
 * `number` returns the new number of a sample. key_table_edit() reads the file of `from` with `get`
 * and verifies its checksums. */
struct key_table_edit {
    const struct key_table *from, *to;
    key_table_get_fn *get;
    void *get_context;
    key_table_number_fn *number;
    const void *number_context;
};
int key_table_edit(const struct key_table_edit *edit, key_table_put_fn *put, void *context,
                   struct sheaf_error *err);

#endif
