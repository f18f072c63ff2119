/* SPDX-License-Identifier: MIT
 *
 * The stored index sections of a data set's shards, one after another, with one index open. */
#ifndef READER_VIEW_SECTIONS_H
#define READER_VIEW_SECTIONS_H

#include "reader/dataset/dataset.h"
#include "store/store.h"

/* Zero-initialised but for the data set. */
struct sections {
    const struct sheaf_dataset *dataset;
    const struct dataset_part *part;        /* whose index is open */
    struct store_object *index;
};

/* The section of a shard, checked, to be freed.  SHEAF_END: its source has no index. */
int sections_read(struct sections *s, uint32_t shard, uint8_t **data, struct sheaf_error *err);
void sections_close(struct sections *s);

#endif
