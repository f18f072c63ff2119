/* SPDX-License-Identifier: MIT
 *
 * The index files of a data set that is being read: one for each part of each source. They stay
 * open, or even in memory, so that opening a shard costs little. */
#ifndef READER_INDEX_FILES_H
#define READER_INDEX_FILES_H

#include "base/budget.h"
#include "base/hash_text.h"
#include "formats/index.h"
#include "reader/dataset/listed.h"

struct index_files {
    const struct sheaf_dataset *dataset;
    struct budget *budget;              /* for the content that is kept in memory */
    struct cache *cache;                /* NULL: none */
    struct index_file *files;           /* NULL if the index files were not opened */
};

/* Computes a hash of everything that the manifest of `source`, a source of the data set `d`, states
 * about the source's index, and writes it to `proof`. */
void index_files_prove(const struct sheaf_dataset *d, const struct sheaf_dataset *source,
                       char proof[HASH_TEXT_BYTES]);

/* Opens the index files. All pointers are borrowed. */
int index_files_open(struct index_files *f, const struct sheaf_dataset *dataset,
                     struct budget *budget, struct cache *cache, struct sheaf_error *err);
void index_files_close(struct index_files *f);
/* Frees the content that is kept in memory. Later, each section is read by itself. No other thread
 * may use the index files. */
void index_files_drop(struct index_files *f);

/* Reads, parses and checks the section of a shard. The shard's source must have an index. On
 * failure, *section may be set, and the caller must still free it. Any number of threads may call
 * this function. */
int index_files_section(const struct index_files *f, uint32_t shard,
                        struct index_section **section, struct sheaf_error *err);
/* Does the same for a shard of the data set `source`, whose index files are not open. `proof` is a
 * hash that identifies the index (listed.h). */
int index_files_read(struct cache *cache, const struct sheaf_dataset *source, const char *proof,
                     uint32_t shard, struct index_section **section, struct sheaf_error *err);

#endif
