/* SPDX-License-Identifier: MIT
 *
 * The columns of a data set. A column consists of layers, which are data sets in
 * columns/NAME/1, columns/NAME/2 and so on. Record i of a layer belongs to sample first + i of the
 * base. All records for one shard of the base are in one shard of a layer:
 *
 *     base      shard 0 | shard 1 | shard 2 | shard 3      (3 was appended later)
 *     layer 1   shard 0           | shard 1 |
 *     layer 2                               | shard 0 */
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
    uint64_t end;               /* samples of the base, from the first on, that have a record */
};

/* Makes the URL of a directory in that of a source: "columns", "columns/NAME" or
 * "columns/NAME/LAYER". NULL and 0 leave the last parts out. Returns SHEAF_ERR_UNSUPPORTED for a
 * data set that cannot have columns. */
int column_directory(const struct sheaf_dataset *source, const char *name, size_t layer,
                     char **url, struct sheaf_error *err);
/* Opens all layers of a column, and checks that they belong to the source. Returns
 * SHEAF_ERR_NOT_FOUND if there is no such column. */
int column_set_open(const struct sheaf_dataset *source, const char *name, struct column_set *set,
                    struct sheaf_error *err);
void column_set_close(struct column_set *set);

/* Calls `each` for the name of each directory in the source's directory of columns. */
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
    uint64_t opening_bytes;     /* memory that opening a shard takes for a while, at most */
};

/* Opens these columns of all sources of a data set. */
int columns_open(const struct sheaf_dataset *dataset, const char *const *names, size_t count,
                 struct columns **columns, struct sheaf_error *err);
void columns_free(struct columns *columns);             /* NULL is fine */

/* Writes a hash of the names and fingerprints of columns. */
int columns_identify(const struct sheaf_dataset *dataset, const char *const *names, size_t count,
                     char hash[HASH_TEXT_BYTES], struct sheaf_error *err);

static inline const struct column_place *columns_place(const struct columns *c, uint32_t shard,
                                                       size_t column)
{
    return &c->places[shard * c->count + column];
}

/* These take NULL, and return 0 then. `samples` is the number of samples of the base's shard. */

/* Returns the memory that an open shard takes for its columns. */
uint64_t columns_index_bytes(const struct columns *c, uint64_t samples);
/* Returns the largest size of one sample's records. */
uint64_t columns_most(const struct columns *c, uint32_t shard);
/* Returns the memory that the records of one column take if an open shard keeps them, or 0 if they
 * are too large. More records than fit into this memory are not kept. */
uint64_t columns_kept_most(const struct columns *c, uint32_t shard, size_t column,
                           uint64_t samples);
/* Returns the usual size of the records for the shard. */
uint64_t columns_usual(const struct columns *c, uint32_t shard, uint64_t samples);

#endif
