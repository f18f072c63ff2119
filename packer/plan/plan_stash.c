/* SPDX-License-Identifier: MIT
 *
 * Putting samples away, shard by shard. */
#include "packer/plan/plan_stash.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "packer/plan/plan_record.h"

/* What the shards have in common while they are put away. */
struct stashing {
    const struct plan *plan;
    struct buf records, blocks;
};

static int stash_shard(struct stashing *s, const struct plan_shard *shard, struct stashed *out,
                       struct sheaf_error *err)
{
    int code = SHEAF_OK;

    s->blocks.size = 0;
    for (uint64_t i = 0; i < shard->sample_count && code == SHEAF_OK; i++) {
        const struct plan_sample *sample = &s->plan->samples[shard->sample + i];

        code = plan_record_write(sample, &s->plan->files[sample->file], &s->records, err);
        if (code == SHEAF_OK && s->records.size >= PLAN_BLOCK_BYTES)
            code = plan_block_pack(&s->records, &s->blocks, err);
        out->files += sample->file_count;
    }
    if (code == SHEAF_OK)
        code = plan_block_pack(&s->records, &s->blocks, err);
    if (code != SHEAF_OK)
        return code;
    out->size = s->blocks.size;
    out->blocks = malloc(MAX(out->size, (size_t)1));
    if (out->blocks == NULL)
        return err_memory(err, out->size);
    if (out->size != 0)
        memcpy(out->blocks, s->blocks.data, out->size);
    return SHEAF_OK;
}

int plan_stash_make(struct plan_stash *stash, struct plan *plan, struct catalog *catalog,
                    struct sheaf_error *err)
{
    struct stashing s = { .plan = plan, .records.limit = PLAN_BLOCK_LIMIT,
                          .blocks.limit = SIZE_MAX / 4 };
    int code = SHEAF_OK;

    stash->plan = plan;
    stash->shards = calloc(MAX(plan->shard_count, (size_t)1), sizeof(stash->shards[0]));
    if (stash->shards == NULL)
        return err_memory(err, plan->shard_count * sizeof(stash->shards[0]));
    for (size_t i = 0; i < plan->shard_count && code == SHEAF_OK; i++)
        code = stash_shard(&s, &plan->shards[i], &stash->shards[i], err);
    buf_free(&s.records);
    buf_free(&s.blocks);
    if (code != SHEAF_OK)
        return code;
    free(plan->samples);
    plan->samples = NULL;
    plan->files = NULL;
    plan->file_count = 0;
    catalog_free_files(catalog);
    return SHEAF_OK;
}

int plan_stash_take(const struct plan_stash *stash, size_t shard, struct plan_batch *batch,
                    struct sheaf_error *err)
{
    const struct stashed *s = &stash->shards[shard];
    struct buf block = BUF_INIT(PLAN_BLOCK_LIMIT);
    int code = plan_batch_begin(batch, stash->plan, shard, shard + 1, err);

    if (code == SHEAF_OK)
        code = plan_batch_take(batch, &batch->plan.shards[0], s->files, s->blocks, s->size,
                               &block, err);
    buf_free(&block);
    return code;
}

void plan_stash_free(struct plan_stash *stash)
{
    for (size_t i = 0; stash->shards != NULL && i < stash->plan->shard_count; i++)
        free(stash->shards[i].blocks);
    free(stash->shards);
    *stash = (struct plan_stash){ 0 };
}
