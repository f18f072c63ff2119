/* SPDX-License-Identifier: MIT
 *
 * Checks the index files that other programs need to read a shard, such as the .idx file of a
 * RecordIO shard. Used by sheaf_verify. */
#ifndef READER_VERIFY_PEER_INDEX_H
#define READER_VERIFY_PEER_INDEX_H

#include "formats/interop_index.h"
#include "reader/dataset/dataset.h"
#include "reader/dataset/frames.h"

/* Must be all zeros before the first use. */
struct peer_index {
    const struct sheaf_dataset *dataset;
    uint32_t shard;
    bool is_on;                     /* true if the shard may have such index files */
    uint64_t number;                /* number of the next sample in its data set */
    struct buf joined;
    struct interop_writer writer;
};

/* A function that is called for each fault in an index file. `fault` is a text such as "line 3:
 * ...". */
typedef void peer_index_tell_fn(void *context, const char *file, const char *fault);

/* Begins to check the index files that other programs need to read a shard. Then peer_index_add
 * must be called for each frame (stored record) in order, and peer_index_end after the last frame.
 * If such an index file cannot describe a frame, peer_index_add returns an error for the first such
 * frame. */
int peer_index_begin(struct peer_index *p, const struct sheaf_dataset *dataset, uint32_t shard,
                     struct sheaf_error *err);
int peer_index_add(struct peer_index *p, const struct frame *frame, struct sheaf_error *err);
int peer_index_end(struct peer_index *p, peer_index_tell_fn *tell, void *context,
                   struct sheaf_error *err);
void peer_index_free(struct peer_index *p);

#endif
