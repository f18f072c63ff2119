/* SPDX-License-Identifier: MIT
 *
 * Makes the index files with which other programs read our shards. FORMATS.md describes their
 * content. struct interop_writer makes the files. Its caller adds the frames (stored records) of
 * one shard after another, in order.
 *
 * In this list, SHARD is a shard's name without the suffixes of container and codec:
 * - MXNet ("mxnet") reads RecordIO. Each shard has a file SHARD.idx.
 * - DALI ("dali") reads RecordIO, TFRecord and WebDataset. Each shard has a file SHARD.idx. For
 *   RecordIO, it is the same file as for MXNet.
 * - The tfrecord package reads TFRecord. Its .tfindex has the same content as DALI's file.
 * - wids ("wids") reads WebDataset. All shards have one file shardindex.json.
 * - Megatron Energon ("energon") reads WebDataset. Each shard has a file SHARD.tar.idx. The
 *   directory .nv-meta has the files .info.json, split.yaml and dataset.yaml. */
#ifndef FORMATS_INTEROP_INDEX_H
#define FORMATS_INTEROP_INDEX_H

#include "base/buf.h"
#include "formats/manifest.h"
#include "sheaf.h"

/* Zero-initialised. */
struct interop_writer {
    unsigned interop;           /* INTEROP_ bits of the requested programs */
    enum sheaf_container container;
    enum sheaf_codec codec;
    struct buf index;           /* content of SHARD.idx so far */
    struct buf offsets;         /* content of SHARD.tar.idx so far */
    uint64_t samples;           /* samples of this shard so far */
    uint64_t end;               /* end of the last sample in the shard */
    bool has_blank;             /* whether a member's path contains a blank */
};

/* A function of the caller that stores one index file. `name` is relative to the data set's
 * directory; a "/" in the name separates a subdirectory. */
typedef int interop_put_fn(void *context, const char *name, const void *data, size_t size,
                           struct sheaf_error *err);

/* Prepares the index files for other programs. `list` has the names of the programs, such as
 * "dali,wids". NULL and "" are the empty list. RecordIO shards get their .idx file even if the list
 * is empty. Returns SHEAF_ERR_ARGUMENT if a program is unknown or cannot read this container or
 * codec. */
int interop_open(struct interop_writer *w, const char *list, enum sheaf_container container,
                 enum sheaf_codec codec, struct sheaf_error *err);

/* Adds a sample to the index files. Its frame (stored record) begins at `offset` of the
 * uncompressed shard, and its number in the data set is `number`. */
int interop_add_frame(struct interop_writer *w, uint64_t number, uint64_t offset,
                      const uint8_t *frame, size_t size, struct sheaf_error *err);

/* Passes to `put` the index files of the shard whose samples were just added, and begins the next
 * shard. */
int interop_finish_shard(struct interop_writer *w, const char *shard_name, interop_put_fn *put,
                         void *context, struct sheaf_error *err);

/* Passes to `put` the index files that cover the whole data set. `split` is the name of the data
 * set's split, such as "train", or NULL. */
int interop_finish_dataset(const struct interop_writer *w, const struct manifest *m,
                           const char *split, interop_put_fn *put, void *context,
                           struct sheaf_error *err);

void interop_free(struct interop_writer *w);

/* Returns the length of a shard's name without the suffixes of its container and codec: 1 for
 * "a.tar.gz". The shard's index file is named after this part of the name. If the name does not end
 * with these suffixes, as in "a.tfrecord-00000-of-00008", returns the length of the whole name. So
 * no two shards have the same index file. */
size_t interop_stem(enum sheaf_container container, enum sheaf_codec codec, const char *shard_name);

#endif
