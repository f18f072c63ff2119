/* SPDX-License-Identifier: MIT
 *
 * Reads data that can only be read from start to end: standard input, pipes, and foreign shards
 * (shards without a manifest) that are compressed or remote. A worker thread of the stream fills
 * one read after another with samples, in the order of the stream. The number of samples is known
 * only at the end. */
#ifndef READER_STREAM_H
#define READER_STREAM_H

#include "reader/load/queue.h"

/* STREAM_READS is the number of reads that belong to a stream at a time. STREAM_READ_BYTES is the
 * approximate number of bytes of samples in a read. */
#define STREAM_READS      2u
#define STREAM_READ_BYTES ((size_t)1 << 20)

/* Returns the largest number of bytes that the stream may use, including all its reads. The caller
 * must take these bytes from the budget. */
uint64_t stream_memory(const struct stream *stream);

/* Returns the number of samples and bad records in the stream so far. The job that has found the
 * last of these samples must have finished. */
uint64_t stream_framed(const struct stream *stream);

/* Returns the container of the stream, which is detected from its first bytes. The first read of
 * the stream must have finished. */
const struct format_ops *stream_format(const struct stream *stream);

#endif
