/* SPDX-License-Identifier: MIT
 *
 * Detects the size, container and codec of foreign shards. Many remote shards are probed at a time,
 * because there may be thousands and each probe takes several round trips. */
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
    int code;                       /* the result of look_sizes or look_inside for this shard
                                       alone */
    struct sheaf_error error;       /* and its error */
    uint64_t bytes;                 /* size of the shard; UINT64_MAX for a pipe, for which the
                                       fields below are not set */
    enum sheaf_codec codec;
    const struct format_ops *format;
    struct store_object *object;    /* look_inside: the open file, or NULL; the caller closes it */
    struct job job;                 /* ours */
};

/* Returns how many of the first URLs should be probed in one call: 1 if the first is a local
 * file. */
size_t look_count(const char *const *urls, size_t count);

/* Finds the sizes of `count` objects. The result of each object is in its look; an error is
 * returned only if probing itself failed. */
int look_sizes(struct look *looks, size_t count, struct sheaf_error *err);

/* Finds sizes, codecs and containers. Errors are as in look_sizes. */
int look_inside(struct look *looks, size_t count, struct sheaf_error *err);

#endif
