/* SPDX-License-Identifier: MIT
 *
 * A sequence of samples on its way to a plan, in memory or in temporary files. It is written, and
 * then read from start to end. */
#ifndef PACKER_PLAN_SAMPLES_H
#define PACKER_PLAN_SAMPLES_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/tempfile.h"
#include "base/watch.h"

/* A sequence of samples in two files. One file has the record of each sample, preceded by the size
 * of the record. The other file has the payload size of each sample. */
struct sample_stream {
    struct tempfile records, sizes;
    uint64_t count, payload_bytes;
    bool cls_is_label;
};

int samples_open(struct sample_stream *stream, const char *directory, size_t memory_bytes,
                 struct sheaf_error *err);
void samples_close(struct sample_stream *stream);
int samples_put(struct sample_stream *stream, const uint8_t *record, size_t size,
               uint64_t payload_bytes, bool has_cls, struct sheaf_error *err);
int samples_rewind(struct sample_stream *stream, struct sheaf_error *err);
/* Reads the next sample of the stream: replaces the content of `record` by the sample's record, and
 * sets *payload_bytes to the size of the sample's content. */
int samples_get(struct sample_stream *stream, struct buf *record, uint64_t *payload_bytes,
               struct sheaf_error *err);

/* ---- Batches --------------------------------------------------------------------------------- */

#define SAMPLE_BATCH 1024

/* Consecutive samples of a stream. */
struct sample_batch {
    struct buf records;         /* the samples' records, one after another */
    size_t ends[SAMPLE_BATCH];  /* end of each record in `records` */
    uint64_t payloads[SAMPLE_BATCH];
    char *keys[SAMPLE_BATCH];
    size_t count;
};
typedef int sample_batch_fn(void *context, const struct sample_batch *batch,
                            struct sheaf_error *err);

/* Calls `take` for all samples of a stream, many at a time. */
int samples_each_batch(struct sample_stream *stream, struct watch *watch, sample_batch_fn *take,
                       void *context, struct sheaf_error *err);

#endif
