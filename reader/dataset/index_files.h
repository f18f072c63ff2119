/* SPDX-License-Identifier: MIT
 *
 * The index files of a data set that is being read. There is one index file for each run that has
 * written shards to the data set. The index files stay open, or are kept in memory if they are
 * small, so that shards can be opened quickly. */
#ifndef READER_INDEX_FILES_H
#define READER_INDEX_FILES_H

#include "base/budget.h"
#include "base/hash_text.h"
#include "formats/index.h"
#include "reader/dataset/listed.h"

struct index_files {
    const struct sheaf_dataset *dataset;
    struct budget *budget;              /* budget for index files that are kept in memory */
    struct cache *cache;                /* NULL if there is no cache */
    struct index_file *files;           /* NULL if the index files were not opened */
};

/* Computes a hash that identifies the content of a source's index, and writes it to `proof` as
 * text. The hash is computed from the hashes and sizes that the manifest states for the source's
 * shards. `source` is a source of the union `d` (a data set made of several sources), or `d` itself
 * if `d` is not a union. */
void index_files_prove(const struct sheaf_dataset *d, const struct sheaf_dataset *source,
                       char proof[HASH_TEXT_BYTES]);

/* Opens the index files of the data set. The arguments must stay valid until the index files are
 * closed. */
int index_files_open(struct index_files *f, const struct sheaf_dataset *dataset,
                     struct budget *budget, struct cache *cache, struct sheaf_error *err);
void index_files_close(struct index_files *f);
/* Frees the index files that were loaded into memory, to save memory. After this call, the index
 * section of a shard is read from the file each time. No other thread may use `f` during the call.
 */
void index_files_drop(struct index_files *f);

/* Reads a shard's index section, the part of the index file for this shard. Parses the section and
 * checks it. The shard's source must have an index. Several threads may call this function at once.
 * The caller must free *section even after an error. */
int index_files_section(const struct index_files *f, uint32_t shard,
                        struct index_section **section, struct sheaf_error *err);
/* The bytes of a shard's index section: in memory, or in the index file. */
struct index_bytes {
    const uint8_t *data;        /* NULL if they are in the file */
    struct store_object *object;
    uint64_t offset;            /* offset of the section in `object` */
    bool is_own;                /* true if index_bytes_close closes `object` */
};

/* Finds the section of a shard of the data set `d` in the open index files `f`. If the index file
 * of the shard is not open there, opens it for this call. f->files and `cache` may be NULL. */
int index_bytes_open(const struct index_files *f, const struct sheaf_dataset *d, uint32_t shard,
                     struct cache *cache, struct index_bytes *bytes, struct sheaf_error *err);
/* Sets *data to `size` bytes of the section, from position `at` on. If the bytes must be read from
 * the file, they are stored in *room, which the caller must free. Otherwise sets *room to NULL. */
int index_bytes_get(const struct index_bytes *bytes, uint64_t at, size_t size,
                    const uint8_t **data, uint8_t **room, struct sheaf_error *err);
void index_bytes_close(struct index_bytes *bytes);

#endif
