/* SPDX-License-Identifier: MIT
 *
 * Reads data that can only be read from start to end: standard input, pipes, and foreign shards
 * (shards without a manifest) that are compressed or remote. A worker thread of the stream fills
 * one read after another with samples, in the order of the stream. The number of samples is known
 * only at the end. */
#ifndef READER_STREAM_H
#define READER_STREAM_H

#include "reader/load/read.h"
#include "reader/order/order.h"

struct stream;

/* STREAM_READS is the largest number of reads that belong to a stream at a time. STREAM_READ_BYTES
 * is the approximate number of bytes of samples in a read. */
#define STREAM_READS      2u
#define STREAM_READ_BYTES ((size_t)1 << 20)

/* State that all streams of a reader share. The pointers in it belong to the reader. */
struct stream_context {
    const struct sheaf_dataset *dataset;
    const struct order *order;          /* order of the epoch */
    const struct order_line *line;
    struct cache *cache;                /* NULL if there is no cache */
    /* for data from pipes, one pipe for each epoch: difference between the number of a pipe and the
     * number of its epoch */
    struct pipe_shift *pipe_shift;
};

/* Opens the stream of a lane, which is one of `lanes` sequences of the epoch. The stream has shard
 * number `lane` and then every lanes-th shard, in the epoch's order of shards.
 *
 * In Amazon SageMaker's Pipe mode, a pipe has all records of the epoch. The stream then reads the
 * whole pipe, but uses only record number `lane` and then every lanes-th record. */
int stream_open(const struct stream_context *context, uint32_t lane, uint64_t memory_limit,
                struct stream **stream, struct sheaf_error *err);

/* Returns the largest number of bytes that the stream may use, including all its reads. The caller
 * must take these bytes from the budget. */
uint64_t stream_memory(const struct stream *stream);

/* Removes the jobs of the stream that have not started, and waits for the running job. `stream` may
 * be NULL. */
void stream_cancel(struct stream *stream);
void stream_close(struct stream *stream);

/* Gives the stream an empty read, which its next job fills. A read that is given after the end of
 * the stream stays empty. */
void stream_plan(struct stream *stream, struct read *read);

/* Returns the number of samples and bad records in the stream so far. The job that has found the
 * last of these samples must have finished. */
uint64_t stream_framed(const struct stream *stream);

/* Returns the container of the stream, which is detected from its first bytes. The first read of
 * the stream must have finished. */
const struct format_ops *stream_format(const struct stream *stream);

#endif
