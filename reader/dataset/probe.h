/* SPDX-License-Identifier: MIT
 *
 * Probes foreign shards for their size, container and codec.  Remote shards are probed many at a
 * time: there may be thousands, and each probe takes some round trips. */
#ifndef READER_PROBE_H
#define READER_PROBE_H

#include "base/workers.h"
#include "formats/codec.h"
#include "formats/format.h"
#include "store/store.h"

#define LOOKS_AT_ONCE 32u       /* remote shards */
#define LOOKS_MOST    256u      /* of one call */

struct look {
    const char *url;                /* the caller's, like all above `job` */
    int code;                       /* as look_sizes, look_inside would return for this one alone */
    struct sheaf_error error;       /* and its error */
    uint64_t bytes;                 /* UINT64_MAX: a pipe, of which no more is said */
    enum sheaf_codec codec;
    const struct format_ops *format;
    struct store_object *object;    /* look_inside: open, if it is a file; the caller closes it */
    struct job job;                 /* ours */
};

/* How many of the looks from the first on are to be made in one call: a file is one. */
size_t look_count(const char *const *urls, size_t count);

/* Finds the sizes of `count` objects.  An error is one of the looking itself. */
int look_sizes(struct look *looks, size_t count, struct sheaf_error *err);

/* Finds sizes, codecs and formats. */
int look_inside(struct look *looks, size_t count, struct sheaf_error *err);

#endif
