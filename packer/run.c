/* SPDX-License-Identifier: MIT
 *
 * Cutting the shards of a plan into blocks, and charging their memory. */
#include "packer/run.h"

#include "base/bytes.h"
#include "base/error.h"

#define FETCHING_JOBS 4u

static uint64_t payload_of(const struct plan *plan, uint64_t first, uint64_t end)
{
    uint64_t bytes = 0;

    for (uint64_t i = first; i < end; i++)
        bytes += plan->samples[i].payload_bytes;
    return bytes;
}

/* Charges a block's memory.  What makes a block too large is always its last sample, since a
 * block ends as soon as it is large enough; that one is then left out. */
static int charge(struct engine *e, struct slot *slot, struct sheaf_error *err)
{
    struct block *b = &slot->block;
    struct block_need need = block_need_planned(b, BLOCK_USUAL);
    int code = engine_charge(e, slot, &need, err);

    if (code != SHEAF_ERR_LIMIT || b->end == b->first)
        return code;
    b->end--;
    b->dropped.is = true;
    b->dropped.need = block_need_total(&need, e->setup);
    b->dropped.limit = e->budget.limit;
    need = block_need_planned(b, BLOCK_USUAL);
    return engine_charge(e, slot, &need, err);
}

static int run_block(struct engine *e, const struct plan *plan, const struct plan_shard *shard,
                     uint64_t *at, struct sheaf_error *err)
{
    const uint64_t shard_end = shard->sample + shard->sample_count;
    struct slot *slot;
    int code = engine_take(e, &slot, err);

    if (code != SHEAF_OK)
        return code;
    slot->shard = *shard;
    slot->block.shard = &slot->shard;
    slot->block.first = *at;
    slot->block.end = plan_block_end(plan, *at, shard_end);
    slot->block.at_worst = slot->block.dropped.is = false;
    slot->begins_shard = *at == shard->sample;
    slot->block.ends_shard = slot->block.end == shard_end;
    slot->planned_samples = slot->block.end - *at;
    slot->planned_bytes = payload_of(plan, *at, slot->block.end);
    *at = slot->block.end;
    code = charge(e, slot, err);
    if (code == SHEAF_OK) {
        slot->block.job.run = block_run;
        engine_submit(e, slot);
    }
    return code;
}

int run_shards(struct engine *e, const struct plan *plan, const bool *kept,
               struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = 0; i < plan->shard_count && code == SHEAF_OK; i++) {
        const struct plan_shard *shard = &plan->shards[i];
        uint64_t at = shard->sample;

        while (!kept[i] && code == SHEAF_OK && at < shard->sample + shard->sample_count)
            code = run_block(e, plan, shard, &at, err);
    }
    return code;
}

unsigned run_jobs(unsigned jobs, bool is_remote)
{
    if (jobs == 0)
        jobs = MIN(workers_processors(), 8u);
    return is_remote ? jobs + FETCHING_JOBS : jobs;
}
