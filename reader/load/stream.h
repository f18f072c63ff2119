/* SPDX-License-Identifier: MIT
 *
 * A data set that can only be read forward: standard input, and foreign shards that are compressed
 * or remote. Jobs on a worker of the stream fill its reads one after another, with the samples in
 * the order of the stream. Counts become known only at the end. */
#ifndef READER_STREAM_H
#define READER_STREAM_H

#include "reader/load/read.h"
#include "reader/order/order.h"

struct stream;

/* Largest number of a stream's reads under way, and the approximate size of one. */
#define STREAM_READS      2u
#define STREAM_READ_BYTES ((size_t)1 << 20)

/* The state that a reader's streams share. All pointers are borrowed. */
struct stream_context {
    const struct sheaf_dataset *dataset;
    const struct order *order;          /* the epoch's */
    const struct order_line *line;
    struct cache *cache;                /* NULL: none */
    struct pipe_shift *pipe_shift;      /* for a channel of pipes */
};

/* Opens a lane's stream: the shards at the places lane, lane + lanes, ... of the line. For a
 * channel of pipes, the records lane, lane + lanes, ... of the epoch's pipe. */
int stream_open(const struct stream_context *context, uint32_t lane, uint64_t memory_limit,
                struct stream **stream, struct sheaf_error *err);

/* Returns the memory that the stream may use at once, including all reads under way. It must be
 * taken from the budget. */
uint64_t stream_memory(const struct stream *stream);

/* Drops the waiting jobs, and waits for the running job. NULL is allowed. */
void stream_cancel(struct stream *stream);
void stream_close(struct stream *stream);

/* Submits an empty read, which becomes the stream's next read. After the stream's end, reads stay
 * empty. */
void stream_plan(struct stream *stream, struct read *read);

/* Returns how many samples and bad records it has found. The job that found the last one must be
 * done. */
uint64_t stream_framed(const struct stream *stream);

/* Returns the container, which is known once a read has landed. */
const struct format_ops *stream_format(const struct stream *stream);

#endif
