/* SPDX-License-Identifier: MIT
 *
 * Reads the stored index sections of a data set's shards, one after another. Only one index file is
 * open at a time. */
#ifndef READER_VIEW_SECTIONS_H
#define READER_VIEW_SECTIONS_H

#include "reader/dataset/dataset.h"
#include "store/store.h"

/* Set `dataset`, and zero the other fields. */
struct sections {
    const struct sheaf_dataset *dataset;
    const struct dataset_part *part;        /* the part whose index is open */
    struct store_object *index;
    struct cache *cache;                    /* for a data set that was opened offline; NULL: none */
};

/* Reads and checks the index section of a shard. The caller frees it. Returns SHEAF_END if the
 * shard's source has no index. */
int sections_read(struct sections *s, uint32_t shard, uint8_t **data, struct sheaf_error *err);
void sections_close(struct sections *s);

#endif
