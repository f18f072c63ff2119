/* SPDX-License-Identifier: MIT
 *
 * The open shard of a packer, and the functions that end it. Used by the packer of a whole data set
 * (packer.c), of several splits (packer_split.c), and of a part of a plan (packer_part.c). */
#include <stddef.h>

#include "base/bytes.h"
#include "base/error.h"
#include "packer/packer.h"
#include "publish/destination.h"

int packer_check_open(struct sheaf_packer *p)
{
    if (p->state == PACKER_OPEN)
        return SHEAF_OK;
    if (p->error.code == SHEAF_OK)
        err_set(&p->error, SHEAF_ERR_STATE, "the packer has finished");
    return p->state == PACKER_FAILED ? p->error.code : SHEAF_ERR_STATE;
}

static void packer_run_finish(struct job *job)
{
    struct block *b = (struct block *)((char *)job - offsetof(struct block, job));

    b->code = block_finish(b, &b->error);
}

void packer_next_shard(struct sheaf_packer *p)
{
    p->shard = (struct plan_shard){
        .split = p->shard.split, .number = p->shard.number + 1, .first = p->samples,
    };
}

void packer_submit(struct sheaf_packer *p, bool ends_shard)
{
    struct slot *slot = p->slot;

    slot->block.ends_shard = ends_shard;
    slot->shard.source = p->shard.source;
    slot->block.job.run = packer_run_finish;
    slot->planned_samples = block_sample_count(&slot->block);
    slot->planned_bytes = slot->block.payload_bytes;
    p->slot = NULL;
    engine_submit(&p->engine, slot);
    if (!ends_shard)
        return;
    packer_next_shard(p);
    p->shard_done = false;
}

int packer_check_shard(struct sheaf_packer *p)
{
    const struct plan *plan = &p->file.facts.plan;
    const struct plan_shard *planned = &plan->shards[MIN(p->shard.number, plan->shard_count - 1)];

    if (p->shard.sample_count == 0 || p->shard.sample_count == planned->sample_count)
        return SHEAF_OK;
    return err_set(&p->error, SHEAF_ERR_CHANGED, "shard %u has %llu sample%s, but the plan says "
                   "%llu", p->shard.number, (unsigned long long)p->shard.sample_count,
                   plural(p->shard.sample_count), (unsigned long long)planned->sample_count);
}

void packer_stop(struct sheaf_packer *p)
{
    if (p->engine_open)
        engine_close(&p->engine);
    p->engine_open = false;
    p->slot = NULL;
}

int packer_unless_finished(struct sheaf_packer *p, int code)
{
    p->is_there = p->is_part && destination_excuses(&p->output, code);
    if (!p->is_there)
        return code;
    packer_stop(p);
    p->state = PACKER_OPEN;
    p->error = (struct sheaf_error){ 0 };
    return SHEAF_OK;
}
