/* SPDX-License-Identifier: MIT
 *
 * The columns of a data set. A column adds fields to the samples of a data set, its base. It
 * consists of layers, which are data sets in columns/NAME/1, columns/NAME/2 and so on. Record i of
 * a layer belongs to sample first + i of the base. One shard of a layer has the records for one or
 * more whole shards of the base.
 *
 * For example, a base has shards 0, 1 and 2 when a column is added. Layer 1 may then have two
 * shards: the first with the records for shards 0 and 1, the second with the records for shard 2.
 * After shard 3 was appended to the base, its records are added as layer 2. */
#ifndef READER_COLUMN_SETS_H
#define READER_COLUMN_SETS_H

#include "base/hash_text.h"
#include "formats/column_record.h"
#include "reader/dataset/dataset.h"
#include "reader/dataset/index_files.h"

#define COLUMN_LAYERS_MOST 1000u
#define COLUMNS_MOST       100u         /* largest number of columns of a reader */

/* ---- One column of a source ------------------------------------------------------------------ */

struct column_layer {
    struct sheaf_dataset *dataset;
    struct column_facts facts;
    /* the index files of `dataset`, if columns_open_indexes has opened them */
    struct index_files indexes;
};

struct column_set {
    /* layers (data sets), in the order of the samples for which they have records */
    struct column_layer *layers;
    size_t count;
    /* Number of samples of the base data set that have a record in the column. These are the first
     * samples, 0 to end - 1. */
    uint64_t end;
};

/* Makes the URL of a directory inside the data set `source`: "columns/NAME/LAYER", "columns/NAME"
 * if `layer` is 0, or "columns" if `name` is NULL. Returns SHEAF_ERR_UNSUPPORTED if the data set
 * cannot have columns. */
int column_directory(const struct sheaf_dataset *source, const char *name, size_t layer,
                     char **url, struct sheaf_error *err);
/* Returns the last part that the data set had when its fingerprint was `base`. (Each append adds a
 * part to a data set.) Returns NULL if the data set never had this fingerprint, or if its samples
 * were edited since then. */
const struct dataset_part *column_base_part(const struct sheaf_dataset *source, const char *base);
/* Opens all layers of the column `name`, and checks that they were made for the data set `source`.
 * Returns SHEAF_ERR_NOT_FOUND if the data set has no such column. */
int column_set_open(const struct sheaf_dataset *source, const char *name, struct column_set *set,
                    struct sheaf_error *err);
void column_set_close(struct column_set *set);
/* Finds out when a column was dropped. A drop may leave a short file, the stand-in, at the URL of a
 * manifest (see columns/column_drop.c). Reads only the beginning of the file `manifest_url`:
 * - If it is a stand-in, sets `date` to the time of the drop.
 * - If it is longer than a stand-in, as a manifest is, returns SHEAF_ERR_LIMIT.
 * - If it is another short file, sets `date` to "".
 * - If it does not exist, returns SHEAF_ERR_NOT_FOUND. */
int column_read_drop(const char *manifest_url, char date[MANIFEST_DATE_BYTES],
                     struct sheaf_error *err);
/* Finds out when a column was dropped. A drop may replace the manifest of the column's first data
 * set (layer 1) by a short file, the stand-in (see columns/column_drop.c). Sets `date` to the time
 * in the stand-in, or to "" if there is no stand-in. */
int column_find_drop(const struct sheaf_dataset *source, const char *name,
                     char date[MANIFEST_DATE_BYTES], struct sheaf_error *err);
/* Returns SHEAF_ERR_NOT_FOUND with a message which says that the data set has no column `name`. */
int column_refuse_absent(const struct sheaf_dataset *source, const char *name,
                         struct sheaf_error *err);

/* A function that is called for each directory in the directory "columns" of a data set. `name` is
 * the directory's name, which is the name of a column. */
typedef int column_name_fn(void *context, const char *name, struct sheaf_error *err);
int column_names_list(const struct sheaf_dataset *source, column_name_fn *each, void *context,
                      struct sheaf_error *err);

/* ---- The columns of a reader ----------------------------------------------------------------- */

/* The records for one shard of the base. */
struct column_place {
    /* the layer (a data set of the column) that has the records; NULL if there are no records */
    const struct sheaf_dataset *layer;
    const struct index_files *indexes;  /* of the layer */
    uint32_t shard;             /* number of the layer's shard that has the records */
    /* number of the record for the first sample, counted within the shard `shard` of the layer */
    uint64_t first;
};

struct columns {
    const struct sheaf_dataset *base;   /* the data set to which the columns belong */
    size_t count;
    char **names;
    size_t shard_count;
    struct column_place *places;        /* `count` elements for each shard of the data set */
    struct column_ranges *ranges;       /* ranges of the places in the columns' indexes */
    struct column_set *sets;            /* `count` elements for each source */
    size_t set_count;
    /* Largest memory in bytes that is needed at one time while the columns of a shard are opened.
     */
    uint64_t opening_bytes;
};

/* Opens the columns with these names in each source of a data set. (A union has several sources;
 * any other data set is its own source.) */
int columns_open(const struct sheaf_dataset *dataset, const char *const *names, size_t count,
                 struct columns **columns, struct sheaf_error *err);
void columns_free(struct columns *columns);             /* `columns` may be NULL. */
/* Opens the index files of all columns, so that opening a shard needs no requests for them. Without
 * this call, or after columns_drop_indexes, the index of each shard is read when the shard is
 * opened. `budget` and `cache` are the arguments of index_files_open. `columns` may be NULL, here
 * and in columns_drop_indexes. */
int columns_open_indexes(struct columns *columns, struct budget *budget, struct cache *cache,
                         struct sheaf_error *err);
void columns_drop_indexes(struct columns *columns);

/* Reads the entries of a column's index for shard number `shard` of the base (column_index.c).
 * Stores the offset of each record in `offsets`, then the end of the last record. Stores the
 * CRC-32C of each record in `sums`. The column must have records for the shard. Several threads may
 * call this function at once. `cache` may be NULL. */
int columns_read_index(const struct columns *columns, uint32_t shard, size_t column,
                       struct cache *cache, uint64_t *offsets, uint32_t *sums,
                       struct sheaf_error *err);
/* Allocates a list that remembers where the index entries of columns are. `count` is the number of
 * places (struct column_place) of a struct columns. Returns NULL if memory is exhausted. */
struct column_ranges *column_ranges_new(size_t count);
void column_ranges_free(struct column_ranges *ranges);      /* `ranges` may be NULL. */

/* Computes a hash of the names and the fingerprints of the columns, and writes it to `hash`. */
int columns_identify(const struct sheaf_dataset *dataset, const char *const *names, size_t count,
                     char hash[HASH_TEXT_BYTES], struct sheaf_error *err);

static inline const struct column_place *columns_place(const struct columns *c, uint32_t shard,
                                                       size_t column)
{
    return &c->places[shard * c->count + column];
}

/* The following functions concern one shard of the base, the data set to which the columns belong.
 * `samples` is the number of samples in this shard. If the reader has no columns, `c` is NULL, and
 * the functions return 0. */

/* Returns the memory in bytes for the indexes of the columns' records while a shard is open. */
uint64_t columns_index_bytes(const struct columns *c, uint64_t samples);
/* Returns the largest size in bytes that the records of one sample in all columns can have. */
uint64_t columns_most(const struct columns *c, uint32_t shard);
/* Returns the memory in bytes that is reserved to keep all records of a column while shard number
 * `shard` is open. Returns 0 if their estimated size is more than `most` bytes. The memory is also
 * an estimate. If the records do not fit into this memory, they are not kept. */
uint64_t columns_kept_most(const struct columns *c, uint32_t shard, size_t column,
                           uint64_t samples, uint64_t most);
/* Returns an estimate, in bytes, for the records of all columns together for one shard of the base,
 * the data set to which the columns belong. */
uint64_t columns_usual(const struct columns *c, uint32_t shard, uint64_t samples);

#endif
