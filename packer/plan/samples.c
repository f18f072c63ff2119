/* SPDX-License-Identifier: MIT
 *
 * Writes and reads sequences of samples; see samples.h. */
#include "packer/plan/samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "packer/plan/plan_record.h"

/* Largest size of a stream of samples that is kept in memory. A larger stream is moved to a file.
 * Streams are written and read from start to end, so a file is about as fast as memory. */
#define STREAM_BYTES ((size_t)4 << 20)

int samples_open(struct sample_stream *s, const char *directory, size_t memory_bytes,
                 struct sheaf_error *err)
{
    int code;

    *s = (struct sample_stream){ .records.fd = -1, .sizes.fd = -1, .cls_is_label = true };
    code = tempfile_open(&s->records, directory, MIN(memory_bytes, STREAM_BYTES), err);
    return code == SHEAF_OK ? tempfile_open(&s->sizes, directory, MIN(memory_bytes, STREAM_BYTES),
                                            err) : code;
}

void samples_close(struct sample_stream *s)
{
    tempfile_close(&s->records);
    tempfile_close(&s->sizes);
}

int samples_put(struct sample_stream *s, const uint8_t *record, size_t size,
               uint64_t payload_bytes, bool has_cls, struct sheaf_error *err)
{
    int code;

    if (payload_bytes > PAYLOAD_LIMIT - s->payload_bytes)
        return err_set(err, SHEAF_ERR_LIMIT, "the files have more than 2^62 bytes");
    s->count++;
    s->payload_bytes += payload_bytes;
    s->cls_is_label &= !has_cls;
    code = tempfile_put_varint(&s->records, size, err);
    if (code == SHEAF_OK)
        code = tempfile_put(&s->records, record, size, err);
    return code == SHEAF_OK ? tempfile_put_varint(&s->sizes, payload_bytes, err) : code;
}

int samples_rewind(struct sample_stream *s, struct sheaf_error *err)
{
    int code = tempfile_rewind(&s->records, err);

    return code == SHEAF_OK ? tempfile_rewind(&s->sizes, err) : code;
}

int samples_get(struct sample_stream *s, struct buf *record, uint64_t *payload_bytes,
               struct sheaf_error *err)
{
    uint64_t size;
    int code = tempfile_get_varint(&s->records, &size, err);

    record->size = 0;
    if (code == SHEAF_OK)
        code = buf_reserve(record, size, err);
    if (code == SHEAF_OK)
        code = tempfile_get(&s->records, record->data, size, err);
    record->size = size;
    return code == SHEAF_OK ? tempfile_get_varint(&s->sizes, payload_bytes, err) : code;
}

/* ---- Batches --------------------------------------------------------------------------------- */

/* Reads the next sample of the stream into the batch. */
static int sample_batch_add(struct sample_batch *b, struct sample_stream *stream,
                            struct buf *record, struct sheaf_error *err)
{
    struct plan_record_head head;
    int code = samples_get(stream, record, &b->payloads[b->count], err);

    if (code == SHEAF_OK)
        code = plan_record_head(record->data, record->size, &head, err);
    if (code == SHEAF_OK)
        code = buf_append(&b->records, record->data, record->size, err);
    if (code != SHEAF_OK)
        return code;
    b->ends[b->count] = b->records.size;
    b->keys[b->count] = strndup((const char *)head.key, head.key_size);
    if (b->keys[b->count] == NULL)
        return err_memory(err, head.key_size);
    b->count++;
    return SHEAF_OK;
}

static void sample_batch_clear(struct sample_batch *b)
{
    for (; b->count != 0; b->count--)
        free(b->keys[b->count - 1]);
    b->records.size = 0;
}

int samples_each_batch(struct sample_stream *stream, struct watch *watch, sample_batch_fn *take,
                       void *context, struct sheaf_error *err)
{
    struct buf record = BUF_INIT(SIZE_MAX / 4);
    struct sample_batch *b = calloc(1, sizeof(*b));
    int code = b == NULL ? err_memory(err, sizeof(*b)) : samples_rewind(stream, err);

    if (b == NULL)
        return code;
    b->records.limit = SIZE_MAX / 4;
    for (uint64_t i = 0; i < stream->count && code == SHEAF_OK; i++) {
        code = sample_batch_add(b, stream, &record, err);
        if (code == SHEAF_OK && (b->count == SAMPLE_BATCH || i + 1 == stream->count)) {
            code = take(context, b, err);
            sample_batch_clear(b);
        }
        if (code == SHEAF_OK)
            code = watch_check(watch, err);
    }
    sample_batch_clear(b);
    buf_free(&b->records);
    free(b);
    buf_free(&record);
    return code;
}
