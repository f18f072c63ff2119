/* SPDX-License-Identifier: MIT
 *
 * A data set that can only be read forward: standard input, pipes, and foreign shards that are
 * compressed or remote. A worker of the stream fills reads one after another, with the samples in
 * the order of the stream. Counts become known only at the end. */
#ifndef READER_STREAM_H
#define READER_STREAM_H

#include "reader/load/read.h"
#include "reader/order/order.h"

struct stream;

/* STREAM_READS is the largest number of reads that a stream has at a time. STREAM_READ_BYTES is the
 * approximate size of one read. */
#define STREAM_READS      2u
#define STREAM_READ_BYTES ((size_t)1 << 20)

/* The state that all streams of a reader share. All pointers are borrowed. */
struct stream_context {
    const struct sheaf_dataset *dataset;
    const struct order *order;          /* the epoch's */
    const struct order_line *line;
    struct cache *cache;                /* NULL: none */
    struct pipe_shift *pipe_shift;      /* for a channel of pipes */
};

/* Opens the stream of a lane. It consists of every lanes-th shard in the epoch's order of shards,
 * beginning with shard `lane`. If the data set is a channel of pipes (Amazon SageMaker's Pipe
 * mode), it consists of every lanes-th record in the epoch's pipe, beginning with record `lane`. */
int stream_open(const struct stream_context *context, uint32_t lane, uint64_t memory_limit,
                struct stream **stream, struct sheaf_error *err);

/* Returns the largest memory that the stream may use, including all its reads. The caller must take
 * it from the budget. */
uint64_t stream_memory(const struct stream *stream);

/* Drops the jobs that have not started, and waits for the running job. NULL is allowed. */
void stream_cancel(struct stream *stream);
void stream_close(struct stream *stream);

/* Submits an empty read, which the stream will fill next. Reads that are submitted after the end of
 * the stream stay empty. */
void stream_plan(struct stream *stream, struct read *read);

/* Returns the number of samples and bad records that the stream has found. The job that found the
 * last one must be done. */
uint64_t stream_framed(const struct stream *stream);

/* Returns the container of the stream, which is known once one of its reads has finished. */
const struct format_ops *stream_format(const struct stream *stream);

#endif
