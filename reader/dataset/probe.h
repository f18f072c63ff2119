/* SPDX-License-Identifier: MIT
 *
 * Detects the sizes, the containers and the codecs of foreign shards (shards without a manifest).
 * There may be thousands of remote shards, and each takes several round trips. So many of them are
 * examined at the same time. */
#ifndef READER_PROBE_H
#define READER_PROBE_H

#include "base/workers.h"
#include "formats/codec.h"
#include "formats/format.h"
#include "store/store.h"

/* largest number of remote shards that are examined at the same time */
#define LOOKS_AT_ONCE 32u
#define LOOKS_MOST    256u      /* largest number of shards in one call */

struct look {
    /* URL of the shard; the text belongs to the caller */
    const char *url;
    /* result of look_sizes or look_inside for this one shard */
    int code;
    struct sheaf_error error;       /* error of this shard, if `code` is an error */
    /* Size of the shard in bytes. If it is UINT64_MAX, the shard is a pipe, and the fields below
     * are not set. */
    uint64_t bytes;
    enum sheaf_codec codec;
    const struct format_ops *format;
    /* The open shard, which look_inside may set. The caller must close it. NULL if the shard is not
     * open. */
    struct store_object *object;
    struct job job;                 /* job that examines the shard; used only in probe.c */
};

/* Returns the number of shards at the beginning of `urls` that should be examined in one call.
 * Remote shards are examined together, so that their round trips overlap. A local file is examined
 * alone. */
size_t look_count(const char *const *urls, size_t count);

/* Finds the sizes of `count` shards. The result for each shard, which may be an error, is stored in
 * its element of `looks`. The function itself returns an error only if no shard could be
 * examined. */
int look_sizes(struct look *looks, size_t count, struct sheaf_error *err);

/* Finds the sizes, codecs and containers of `count` shards. Errors for single shards are stored in
 * `looks`, as by look_sizes. */
int look_inside(struct look *looks, size_t count, struct sheaf_error *err);

#endif
