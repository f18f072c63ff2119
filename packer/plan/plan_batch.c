/* SPDX-License-Identifier: MIT
 *
 * Compresses records of samples into blocks, and makes plans of a few shards from such blocks. */
#include "packer/plan/plan_batch.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/varint.h"
#include "packer/plan/plan_record.h"

/* ---- Blocks ---------------------------------------------------------------------------------- */

int plan_block_pack(struct buf *records, struct buf *out, struct sheaf_error *err)
{
    const size_t raw = records->size;
    const int bound = LZ4_compressBound((int)raw);
    uint8_t head[2 * VARINT_MOST];
    size_t size, head_size;
    int code;

    if (raw == 0)
        return SHEAF_OK;
    code = buf_reserve(out, sizeof(head) + (size_t)bound, err);
    if (code != SHEAF_OK)
        return code;
    /* The block begins with two varints: its raw and its compressed size. The length of these
     * varints is known only after the compression. So the compressed records are first written to a
     * position that leaves room for varints of any length. Then they are moved to the place
     * directly after the varints. */
    size = (size_t)LZ4_compress_default((const char *)records->data,
                                        (char *)out->data + out->size + sizeof(head), (int)raw,
                                        bound);
    head_size = varint_put(head, raw);
    head_size += varint_put(head + head_size, MIN(size, raw));
    memmove(out->data + out->size + head_size,
            size < raw ? out->data + out->size + sizeof(head) : records->data, MIN(size, raw));
    memcpy(out->data + out->size, head, head_size);
    out->size += head_size + MIN(size, raw);
    records->size = 0;
    return SHEAF_OK;
}

/* Decompresses the block at *at into `out`, whose content it replaces, and moves *at past the
 * block. A block has samples of one shard of the plan. */
static int plan_batch_take_block(const uint8_t **at, const uint8_t *end, struct buf *out,
                                 struct sheaf_error *err)
{
    uint64_t raw, stored;
    int code;

    if (!varint_take(at, end, &raw) || !varint_take(at, end, &stored) || raw == 0 ||
        raw > PLAN_BLOCK_LIMIT || stored > raw || stored > (uint64_t)(end - *at))
        return err_set(err, SHEAF_ERR_CORRUPT, "malformed: the sizes of a block");
    out->size = 0;
    code = buf_reserve(out, raw, err);
    if (code != SHEAF_OK)
        return code;
    if (stored == raw)
        memcpy(out->data, *at, raw);
    else if (LZ4_decompress_safe((const char *)*at, (char *)out->data, (int)stored, (int)raw) !=
             (int)raw)
        return err_set(err, SHEAF_ERR_CORRUPT, "malformed: a block of %llu byte%s",
                       (unsigned long long)stored, plural(stored));
    out->size = raw;
    *at += stored;
    return SHEAF_OK;
}

/* ---- Shards ---------------------------------------------------------------------------------- */

int plan_batch_begin(struct plan_batch *batch, const struct plan *whole, size_t first, size_t end,
                     struct sheaf_error *err)
{
    batch->plan = *whole;
    batch->plan.shard_count = end - first;
    batch->plan.sample_count = 0;
    batch->plan.payload_bytes = 0;
    batch->plan.samples = NULL;
    batch->plan.files = NULL;
    batch->plan.file_count = 0;
    batch->plan.shards = calloc(end - first, sizeof(batch->plan.shards[0]));
    if (batch->plan.shards == NULL)
        return err_memory(err, (end - first) * sizeof(batch->plan.shards[0]));
    for (size_t i = first; i < end; i++) {
        struct plan_shard *shard = &batch->plan.shards[i - first];

        *shard = whole->shards[i];
        shard->sample = batch->plan.sample_count;
        batch->plan.sample_count += shard->sample_count;
        batch->plan.payload_bytes += shard->payload_bytes;
    }
    batch->plan.samples = calloc(MAX(batch->plan.sample_count, (size_t)1),
                                 sizeof(batch->plan.samples[0]));
    return batch->plan.samples == NULL
               ? err_memory(err, batch->plan.sample_count * sizeof(batch->plan.samples[0]))
               : SHEAF_OK;
}

/* Reads the next sample of the shard from a block that was decompressed, and adds it to `batch`.
 * Returns an error if the sample contradicts the plan. */
static int plan_batch_take_sample(struct plan_batch *batch, const struct plan_shard *shard,
                                  uint64_t number, const uint8_t **at, const uint8_t *end,
                                  struct sheaf_error *err)
{
    struct plan_sample *sample = &batch->plan.samples[shard->sample + number];
    int code;

    if (number == shard->sample_count)
        return err_set(err, SHEAF_ERR_CORRUPT, "malformed: more than %llu samples",
                       (unsigned long long)shard->sample_count);
    code = plan_record_read(at, end, &batch->catalog, sample, err);
    if (code == SHEAF_OK && sample->label >= batch->plan.label_count)
        code = err_set(err, SHEAF_ERR_CORRUPT, "malformed: label %u of %u", sample->label,
                       batch->plan.label_count);
    sample->split = (uint16_t)shard->split;
    return code;
}

int plan_batch_take(struct plan_batch *batch, const struct plan_shard *shard, uint64_t files,
                    const uint8_t *data, size_t size, struct buf *block,
                    struct sheaf_error *err)
{
    const uint8_t *end = data + size;
    const size_t before = batch->catalog.file_count;
    uint64_t count = 0, payload = 0;
    int code = SHEAF_OK;

    while (data < end && code == SHEAF_OK) {
        const uint8_t *at;

        code = plan_batch_take_block(&data, end, block, err);
        at = block->data;
        while (code == SHEAF_OK && at < block->data + block->size) {
            code = plan_batch_take_sample(batch, shard, count, &at, block->data + block->size, err);
            if (code == SHEAF_OK)
                payload += batch->plan.samples[shard->sample + count++].payload_bytes;
        }
    }
    if (code == SHEAF_OK && (count != shard->sample_count || payload != shard->payload_bytes ||
                             batch->catalog.file_count - before != files))
        code = err_set(err, SHEAF_ERR_CORRUPT, "malformed: %llu sample%s in %zu file%s, expected "
                       "%llu in %llu", (unsigned long long)count, plural(count),
                       batch->catalog.file_count - before,
                       plural(batch->catalog.file_count - before),
                       (unsigned long long)shard->sample_count, (unsigned long long)files);
    batch->plan.files = batch->catalog.files;
    batch->plan.file_count = batch->catalog.file_count;
    return code;
}

/* Labels and classes belong to the whole plan. */
void plan_batch_free(struct plan_batch *batch)
{
    free(batch->plan.samples);
    free(batch->plan.shards);
    catalog_free(&batch->catalog);
    *batch = (struct plan_batch){ .plan.file_count = 0 };
}
