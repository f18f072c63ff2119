/* SPDX-License-Identifier: MIT
 *
 * Reads a stream of samples in batches, so that the keys of many samples are looked up together. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "packer/plan/plan_sort.h"

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

int samples_each_batch(const struct plan_sort *x, struct sample_stream *stream,
                       sample_batch_fn *take, void *context, struct sheaf_error *err)
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
            code = watch_check(x->watch, err);
    }
    sample_batch_clear(b);
    buf_free(&b->records);
    free(b);
    buf_free(&record);
    return code;
}
