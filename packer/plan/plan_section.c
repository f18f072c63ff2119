/* SPDX-License-Identifier: MIT
 *
 * Writes and reads the sections of a plan. A section has the samples of one shard. */
#include "packer/plan/plan_section.h"

#include "base/error.h"

static void section_begin(struct plan_sections *s, uint64_t offset)
{
    s->open = (struct plan_section){ .offset = offset };
    XXH3_64bits_reset(s->sum);
}

int plan_sections_open(struct plan_sections *s, const char *directory, size_t memory_bytes,
                       struct sheaf_error *err)
{
    *s = (struct plan_sections){
        .sum = XXH3_createState(),
        .block.limit = PLAN_BLOCK_LIMIT, .packed.limit = SIZE_MAX / 4, .ended.limit = SIZE_MAX / 4,
    };
    if (s->sum == NULL)
        return err_memory(err, 1024);
    section_begin(s, 0);
    return tempfile_open(&s->blocks, directory, memory_bytes, err);
}

void plan_sections_free(struct plan_sections *s)
{
    if (s->sum != NULL)
        tempfile_close(&s->blocks);
    XXH3_freeState(s->sum);
    buf_free(&s->block);
    buf_free(&s->packed);
    buf_free(&s->ended);
    *s = (struct plan_sections){ .sum = NULL };
}

static int plan_section_flush(struct plan_sections *s, struct sheaf_error *err)
{
    int code;

    s->packed.size = 0;
    code = plan_block_pack(&s->block, &s->packed, err);
    if (code != SHEAF_OK || s->packed.size == 0)
        return code;
    XXH3_64bits_update(s->sum, s->packed.data, s->packed.size);
    s->open.bytes += s->packed.size;
    return tempfile_put(&s->blocks, s->packed.data, s->packed.size, err);
}

int plan_sections_add(struct plan_sections *s, const uint8_t *record, size_t size,
                      uint64_t files, struct sheaf_error *err)
{
    int code = buf_append(&s->block, record, size, err);

    if (code != SHEAF_OK)
        return code;
    s->open.files += files;
    return s->block.size >= PLAN_BLOCK_BYTES ? plan_section_flush(s, err) : SHEAF_OK;
}

int plan_sections_end_shard(struct plan_sections *s, struct sheaf_error *err)
{
    int code = plan_section_flush(s, err);

    if (code != SHEAF_OK)
        return code;
    s->open.sum = XXH3_64bits_digest(s->sum);
    code = buf_append(&s->ended, &s->open, sizeof(s->open), err);
    section_begin(s, s->open.offset + s->open.bytes);
    return code;
}

int plan_sections_end(struct plan_sections *s, struct sheaf_error *err)
{
    return tempfile_rewind(&s->blocks, err);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static int plan_section_load(const struct plan_rows *rows, size_t i, struct plan_batch *batch,
                             const struct plan_shard *shard, struct buf *room, struct buf *block,
                             struct sheaf_error *err)
{
    const struct plan_section *section = &rows->sections[i];
    const uint8_t *data;
    int code = rows->read(rows->context, i, room, &data, err);

    if (code != SHEAF_OK)
        return code;
    code = plan_batch_take(batch, shard, section->files, data, section->bytes, block, err);
    if (code != SHEAF_OK && rows->url != NULL)
        err_prefix(err, "%s: the section of shard %zu: ", rows->url, i);
    return code;
}

int plan_rows_load(const struct plan_rows *rows, size_t first, size_t end,
                   struct plan_batch *batch, struct sheaf_error *err)
{
    struct buf block = BUF_INIT(PLAN_BLOCK_LIMIT), room = BUF_INIT(SIZE_MAX / 4);
    int code;

    plan_batch_free(batch);
    code = plan_batch_begin(batch, rows->plan, first, end, err);
    for (size_t i = first; i < end && code == SHEAF_OK; i++)
        code = plan_section_load(rows, i, batch, &batch->plan.shards[i - first], &room, &block,
                                 err);
    buf_free(&block);
    buf_free(&room);
    return code;
}

static int plan_sections_read(const void *context, size_t shard, struct buf *room,
                              const uint8_t **data, struct sheaf_error *err)
{
    const struct plan_sections *s = context;
    const struct plan_section *section = &plan_sections_ended(s)[shard];
    const int code = tempfile_view(&s->blocks, section->offset, section->bytes, room, data, err);

    if (code == SHEAF_OK && XXH3_64bits(*data, section->bytes) != section->sum)
        return err_set(err, SHEAF_ERR_CORRUPT, "a temporary file was read back with different "
                       "bytes");
    return code;
}

struct plan_rows plan_sections_rows(const struct plan_sections *s, const struct plan *plan)
{
    return (struct plan_rows){ plan, plan_sections_ended(s), plan_sections_read, s, NULL };
}
