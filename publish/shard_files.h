/* SPDX-License-Identifier: MIT
 *
 * A finished shard, and the files that are stored in the same directory with it, such as its
 * index file for another program. All these files are completely written, but do not have their
 * final names yet. */
#ifndef PUBLISH_SHARD_FILES_H
#define PUBLISH_SHARD_FILES_H

#include "base/buf.h"
#include "publish/names.h"
#include "store/store.h"

/* A file that is stored in the same directory as a shard, for example an index file of this
 * shard for another program. The file is completely written, but does not have its final name
 * yet. */
struct shard_side {
    char name[SHARD_NAME_BYTES];
    struct store_writer *writer;        /* has the content already; NULL: `data` is the content */
    struct buf data;
    uint64_t stamp;                     /* once it is written */
};
#define SIDES_MOST 8

struct shard_files {
    struct store_writer *shard;
    struct shard_side sides[SIDES_MOST];
    size_t side_count;
};

#endif
