/* SPDX-License-Identifier: MIT
 *
 * The columns of a data set. A column consists of layers, which are data sets in columns/NAME/1,
 * columns/NAME/2 and so on. Record i of a layer belongs to sample first + i of the base (the data
 * set that the column adds fields to). One shard of a layer has the records for one or more whole
 * shards of the base.
 *
 * For example, a base has shards 0, 1 and 2 when a column is added. Layer 1 may then have two
 * shards: the first with the records for shards 0 and 1, the second with the records for shard 2.
 * After shard 3 was appended to the base, its records are added as layer 2. */
#ifndef READER_COLUMN_SETS_H
#define READER_COLUMN_SETS_H

#include "base/hash_text.h"
#include "formats/column_record.h"
#include "reader/dataset/dataset.h"

#define COLUMN_LAYERS_MOST 1000u
#define COLUMNS_MOST       100u         /* that a reader takes at once */

/* ---- One column of a source ------------------------------------------------------------------ */

struct column_layer {
    struct sheaf_dataset *dataset;
    struct column_facts facts;
};

struct column_set {
    struct column_layer *layers;        /* in the order of the numbers that they cover */
    size_t count;
    /* The column has records for the samples 0 to end - 1 of the base data set. */
    uint64_t end;
};

/* Makes the URL of a directory inside a data set: "columns", "columns/NAME" or
 * "columns/NAME/LAYER". If `name` is NULL or `layer` is 0, leaves out that part and what follows
 * it. Returns SHEAF_ERR_UNSUPPORTED for a data set that cannot have columns. */
int column_directory(const struct sheaf_dataset *source, const char *name, size_t layer,
                     char **url, struct sheaf_error *err);
/* Finds the part of a data set that was the last one when the data set had the fingerprint `base`.
 * Returns NULL if the data set never had this fingerprint, or if it was edited since then. */
const struct dataset_part *column_base_part(const struct sheaf_dataset *source, const char *base);
/* Opens all layers of a column, and checks that they belong to the source data set. Returns
 * SHEAF_ERR_NOT_FOUND if the data set has no column of this name. */
int column_set_open(const struct sheaf_dataset *source, const char *name, struct column_set *set,
                    struct sheaf_error *err);
void column_set_close(struct column_set *set);
/* Sets `date` to the time at which the column was dropped, if layer 1 has the stand-in that a drop
 * has left (see columns/column_drop.c), and otherwise to "". */
int column_find_drop(const struct sheaf_dataset *source, const char *name,
                     char date[MANIFEST_DATE_BYTES], struct sheaf_error *err);
/* Returns SHEAF_ERR_NOT_FOUND for a data set that has no column of this name. */
int column_refuse_absent(const struct sheaf_dataset *source, const char *name,
                         struct sheaf_error *err);

/* Called with the name of each directory in the data set's directory "columns". */
typedef int column_name_fn(void *context, const char *name, struct sheaf_error *err);
int column_names_list(const struct sheaf_dataset *source, column_name_fn *each, void *context,
                      struct sheaf_error *err);

/* ---- The columns of a reader ----------------------------------------------------------------- */

/* The records for one shard of the base. */
struct column_place {
    const struct sheaf_dataset *layer;  /* NULL: there are none */
    uint32_t shard;             /* of the layer */
    uint64_t first;             /* record of its shard */
};

struct columns {
    size_t count;
    char **names;
    size_t shard_count;
    struct column_place *places;        /* `count` for each shard of the data set */
    struct column_set *sets;            /* `count` for each source */
    size_t set_count;
    /* While one shard of a column is being opened, at most this number of bytes is needed. */
    uint64_t opening_bytes;
};

/* Opens the named columns of all sources of a data set. */
int columns_open(const struct sheaf_dataset *dataset, const char *const *names, size_t count,
                 struct columns **columns, struct sheaf_error *err);
void columns_free(struct columns *columns);             /* NULL is fine */

/* Writes a hash of the names and the fingerprints of columns into `hash`. */
int columns_identify(const struct sheaf_dataset *dataset, const char *const *names, size_t count,
                     char hash[HASH_TEXT_BYTES], struct sheaf_error *err);

static inline const struct column_place *columns_place(const struct columns *c, uint32_t shard,
                                                       size_t column)
{
    return &c->places[shard * c->count + column];
}

/* The following functions accept NULL for `c` (a reader without columns), and then return 0.
 * `samples` is the number of samples in the shard of the base data set. */

/* Returns the memory that the columns of an open shard need for their indexes. */
uint64_t columns_index_bytes(const struct columns *c, uint64_t samples);
/* Returns the largest size of one sample's records. */
uint64_t columns_most(const struct columns *c, uint32_t shard);
/* Returns the memory that an open shard needs to keep the records of one column, or 0 if the
 * records are too large to be kept. If the records turn out not to fit into this memory, they are
 * not kept. */
uint64_t columns_kept_most(const struct columns *c, uint32_t shard, size_t column,
                           uint64_t samples);
/* Estimates the total size of the records that all columns have for one shard of the base data
 * set. */
uint64_t columns_usual(const struct columns *c, uint32_t shard, uint64_t samples);

#endif
