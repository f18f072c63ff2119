/* SPDX-License-Identifier: MIT
 *
 * Index files of other readers, which let them read our shards:
 *
 *     mxnet     RecordIO     SHARD.idx     also what DALI reads with RecordIO
 *     dali      TFRecord     SHARD.idx     (the .tfindex of the tfrecord package is the same)
 *               WebDataset   SHARD.idx
 *     wids      WebDataset   shardindex.json
 *     energon   WebDataset   SHARD.tar.idx, .nv-meta/{.info.json,split.yaml,dataset.yaml}
 *
 * SHARD is a shard's name without the container's and the codec's suffix.  A writer is fed the
 * frames of one shard after another, in order, and gives whole files; FORMATS.md has their
 * form. */
#ifndef FORMATS_INTEROP_INDEX_H
#define FORMATS_INTEROP_INDEX_H

#include "base/buf.h"
#include "formats/manifest.h"
#include "sheaf.h"

/* Zero-initialised. */
struct interop_writer {
    unsigned interop;           /* bits of the readers asked for */
    enum sheaf_container container;
    enum sheaf_codec codec;
    struct buf index;           /* of SHARD.idx so far */
    struct buf offsets;         /* of SHARD.tar.idx so far */
    uint64_t samples;           /* of this shard so far */
    uint64_t end;               /* of the last of them, in the shard */
    bool has_blank;             /* some member's path has a blank */
};

/* Is given a file's name, relative to the data set's directory ("/" in it names a directory
 * below), and its content. */
typedef int interop_put_fn(void *context, const char *name, const void *data, size_t size,
                           struct sheaf_error *err);

/* `list`: names with commas between them; NULL or "": none, but RecordIO shards have their .idx
 * always.  SHEAF_ERR_ARGUMENT for an unknown reader, and for one that cannot read this container
 * or codec. */
int interop_open(struct interop_writer *w, const char *list, enum sheaf_container container,
                 enum sheaf_codec codec, struct sheaf_error *err);

/* The frame at `offset` of the shard's raw bytes.  `number`: its sample's, in the data set. */
int interop_add_frame(struct interop_writer *w, uint64_t number, uint64_t offset,
                      const uint8_t *frame, size_t size, struct sheaf_error *err);

/* Puts the files of the shard that ends here; the next one begins. */
int interop_finish_shard(struct interop_writer *w, const char *shard_name, interop_put_fn *put,
                         void *context, struct sheaf_error *err);

/* Puts the files of the whole data set.  `split`: its name, or NULL. */
int interop_finish_dataset(const struct interop_writer *w, const struct manifest *m,
                           const char *split, interop_put_fn *put, void *context,
                           struct sheaf_error *err);

void interop_free(struct interop_writer *w);

/* How long SHARD is in a shard's name.  "a.tar.gz" is "a"; what does not end as the packer's
 * names do ("a.tfrecord-00000-of-00008") is taken whole, so that no two shards share a file. */
size_t interop_stem(enum sheaf_container container, enum sheaf_codec codec, const char *shard_name);

#endif
