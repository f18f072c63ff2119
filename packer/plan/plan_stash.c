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

static int plan_stash_read_section(const void *context, size_t shard, struct buf *room,
                                   const uint8_t **data, struct sheaf_error *err)
{
    const struct plan_stash *stash = context;
    const struct plan_section *section = &plan_sections_ended(&stash->sections)[shard];
    const int code = tempfile_view(&stash->blocks, section->offset, section->bytes, room, data,
                                   err);

    if (code == SHEAF_OK && XXH3_64bits(*data, section->bytes) != section->sum)
        return err_set(err, SHEAF_ERR_CORRUPT, "a temporary file was read back with different "
                       "bytes");
    return code;
}

struct plan_rows plan_stash_rows(const struct plan_stash *stash)
{
    return (struct plan_rows){ stash->plan, plan_sections_ended(&stash->sections),
        plan_stash_read_section,
                               stash, NULL };
}
