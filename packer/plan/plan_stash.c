/* SPDX-License-Identifier: MIT
 *
 * Stores samples shard by shard, and loads them again. */
#include "packer/plan/plan_stash.h"

#include "base/error.h"

static int stash_put(void *context, const void *data, size_t size, struct sheaf_error *err)
{
    return tempfile_put(&((struct plan_stash *)context)->blocks, data, size, err);
}

int plan_stash_open(struct plan_stash *stash, const char *directory, size_t memory_bytes,
                    struct sheaf_error *err)
{
    int code = plan_sections_open(&stash->sections, 0, stash_put, stash, err);

    stash->plan = NULL;
    stash->blocks = (struct tempfile){ .fd = -1 };
    return code == SHEAF_OK ? tempfile_open(&stash->blocks, directory, memory_bytes, err) : code;
}

int plan_stash_end(struct plan_stash *stash, const struct plan *plan, struct sheaf_error *err)
{
    stash->plan = plan;
    return tempfile_rewind(&stash->blocks, err);
}

void plan_stash_close(struct plan_stash *stash)
{
    plan_sections_free(&stash->sections);
    tempfile_close(&stash->blocks);
}

static int take_section(const struct plan_stash *stash, const struct plan_section *section,
                        struct plan_batch *batch, const struct plan_shard *shard,
                        struct buf *block, struct buf *room, struct sheaf_error *err)
{
    const uint8_t *data;
    int code = tempfile_view(&stash->blocks, section->offset, section->bytes, room, &data, err);

    if (code == SHEAF_OK && XXH3_64bits(data, section->bytes) != section->sum)
        code = err_set(err, SHEAF_ERR_CORRUPT, "a temporary file was read back with different "
                       "bytes");
    return code == SHEAF_OK ? plan_batch_take(batch, shard, section->files, data, section->bytes,
                                              block, err) : code;
}

static int load(const void *context, size_t first, size_t end, struct plan_batch *batch,
                struct sheaf_error *err)
{
    const struct plan_stash *stash = context;
    const struct plan_section *sections = plan_sections_ended(&stash->sections);
    struct buf block = BUF_INIT(PLAN_BLOCK_LIMIT), room = BUF_INIT(SIZE_MAX / 4);
    int code;

    plan_batch_free(batch);
    code = plan_batch_begin(batch, stash->plan, first, end, err);
    for (size_t i = first; i < end && code == SHEAF_OK; i++)
        code = take_section(stash, &sections[i], batch, &batch->plan.shards[i - first], &block,
                            &room, err);
    buf_free(&block);
    buf_free(&room);
    return code;
}

struct plan_rows plan_stash_rows(const struct plan_stash *stash)
{
    return (struct plan_rows){ stash->plan, plan_sections_ended(&stash->sections), load, stash };
}
