/* SPDX-License-Identifier: MIT
 *
 * A data set that can only be read forward: standard input, and foreign shards that are compressed
 * or remote.  Its reads are made one after another, by jobs on a worker of the stream's own, as
 * many samples at a time as come along; counts are known at the end only. */
#ifndef READER_STREAM_H
#define READER_STREAM_H

#include "reader/load/read.h"
#include "reader/order/order.h"

struct stream;

/* The most reads of a stream under way, and the bytes of one, about. */
#define STREAM_READS      2u
#define STREAM_READ_BYTES ((size_t)1 << 20)

/* What a reader's streams share; all borrowed. */
struct stream_context {
    const struct sheaf_dataset *dataset;
    const struct order *order;          /* the epoch's */
    const struct order_line *line;
    struct cache *cache;                /* NULL: none */
    struct pipe_shift *pipe_shift;      /* of a channel of pipes */
};

/* A lane's stream: the shards at the places lane, lane + lanes, ... of the line; of a channel of
 * pipes, the records lane, lane + lanes, ... of the epoch's pipe. */
int stream_open(const struct stream_context *context, uint32_t lane, uint64_t memory_limit,
                struct stream **stream, struct sheaf_error *err);

/* What the stream itself may hold at once, all reads under way included: bytes to be taken from
 * the budget. */
uint64_t stream_memory(const struct stream *stream);

/* Drops the jobs that wait, and waits for the one that runs; NULL is fine. */
void stream_cancel(struct stream *stream);
void stream_close(struct stream *stream);

/* Submits an empty read, to become the next one.  Behind the stream's last one there are only
 * empty ones. */
void stream_plan(struct stream *stream, struct read *read);

/* The samples and bad records that it has found.  The job that found the last one must be done. */
uint64_t stream_framed(const struct stream *stream);

/* The container, known once a read has landed. */
const struct format_ops *stream_format(const struct stream *stream);

#endif
