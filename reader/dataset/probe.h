/* SPDX-License-Identifier: MIT
 *
 * Detects the sizes, containers and codecs of foreign shards. Probes many remote shards at the same
 * time, because there may be thousands of them and each probe takes several round trips. */
#ifndef READER_PROBE_H
#define READER_PROBE_H

#include "base/workers.h"
#include "formats/codec.h"
#include "formats/format.h"
#include "store/store.h"

#define LOOKS_AT_ONCE 32u       /* remote shards */
#define LOOKS_MOST    256u      /* number of shards in one call */

struct look {
    const char *url;                /* borrowed, like all fields above `job` */
    /* result of look_sizes or look_inside for this one shard */
    int code;
    struct sheaf_error error;       /* and its error */
    /* size of the shard; UINT64_MAX for a pipe, for which the fields below are not set */
    uint64_t bytes;
    enum sheaf_codec codec;
    const struct format_ops *format;
    /* set by look_inside: the open shard, or NULL; the caller closes it */
    struct store_object *object;
    struct job job;                 /* ours */
};

/* Returns how many of the URLs should be probed in the next call, beginning with the first. Returns
 * 1 if the first shard is a local file. */
size_t look_count(const char *const *urls, size_t count);

/* Finds the sizes of `count` shards. The result for each shard, including an error, is in its
 * struct look. The function itself returns an error only if probing was not possible. */
int look_sizes(struct look *looks, size_t count, struct sheaf_error *err);

/* Finds the sizes, codecs and containers of `count` shards. Errors are reported as by
 * look_sizes. */
int look_inside(struct look *looks, size_t count, struct sheaf_error *err);

#endif
