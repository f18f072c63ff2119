/* SPDX-License-Identifier: MIT
 *
 * Reads the index sections of the shards of a data set from its index files. A section is the index
 * of one shard. One index file is open at a time, so sections should be read in order. */
#ifndef READER_VIEW_SECTIONS_H
#define READER_VIEW_SECTIONS_H

#include "reader/dataset/dataset.h"
#include "store/store.h"

/* The state of reading index sections. The caller must set `dataset`, and set the other fields to
 * zero. */
struct sections {
    const struct sheaf_dataset *dataset;
    const struct dataset_part *part;        /* the part whose index is open */
    struct store_object *index;
    /* the cache from which the index is read, if the data set was opened offline, that is, without
     * its servers; otherwise NULL */
    struct cache *cache;
};

/* Reads the index section of a shard and checks it. The caller must free *data. Returns SHEAF_END
 * if the source to which the shard belongs has no index. */
int sections_read(struct sections *s, uint32_t shard, uint8_t **data, struct sheaf_error *err);
/* Does the same, and parses the section. The caller must free *section with index_section_free().
 * After a failure, *section is NULL. */
int sections_parse(struct sections *s, uint32_t shard, struct index_section **section,
                   struct sheaf_error *err);
void sections_close(struct sections *s);

#endif
