/* SPDX-License-Identifier: MIT
 *
 * Cutting the shards of a plan into blocks, and charging their memory.  The samples of a shard are
 * there from its first block to its last. */
#include "packer/run.h"

#include <stdlib.h>

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

/* A sample is not left out for want of memory, whatever a bad file does: what is in a data set does
 * not depend on the machine. */
static int refuse_sample(const struct block *b, uint64_t needed, uint64_t limit,
                         struct sheaf_error *err)
{
    const struct plan_sample *s = &b->plan->samples[b->end - 1];

    return err_set(err, SHEAF_ERR_LIMIT, "%s: a sample of %llu bytes needs %llu bytes of memory, "
                   "the limit is %llu", b->plan->files[s->file].path,
                   (unsigned long long)s->payload_bytes, (unsigned long long)needed,
                   (unsigned long long)limit);
}

/* Charges a block's memory.  What makes a block too large is always its last sample, since a
 * block ends as soon as it is large enough. */
static int charge(struct engine *e, struct slot *slot, struct sheaf_error *err)
{
    struct block *b = &slot->block;
    struct block_need need = block_need_planned(b, BLOCK_USUAL);
    int code = engine_charge(e, slot, &need, err);

    if (code != SHEAF_ERR_LIMIT)
        return code;
    need = block_need_planned(b, BLOCK_USUAL);
    return refuse_sample(b, block_need_total(&need, e->setup), e->budget.limit, err);
}

uint64_t run_largest_shard(const struct plan *plan, size_t first, size_t end)
{
    uint64_t most = 0;

    for (size_t i = first; i < end; i++)
        most = MAX(most, target_shard_bytes(&plan->shards[i]));
    return most;
}

int run_memory_left(const struct block_setup *setup, const char *dest, uint64_t largest_shard,
                    uint64_t memory_bytes, uint64_t *left, struct sheaf_error *err)
{
    uint64_t sent;
    const int code = engine_share(dest, setup, largest_shard, memory_bytes, &sent, err);

    *left = code == SHEAF_OK ? memory_bytes - sent : 0;
    return code;
}

int run_check_sample(const struct block_setup *setup, const char *key, size_t key_size,
                     uint64_t bytes, uint64_t files, uint64_t left, struct sheaf_error *err)
{
    struct block_need need = { 0 };
    uint64_t total;

    block_need_sample(&need, BLOCK_USUAL, bytes, files, 0, 0);
    total = block_need_total(&need, setup);
    if (total <= left)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_LIMIT, "%.*s: a sample of %llu bytes needs %llu bytes of "
                   "memory, the limit is %llu", (int)MIN(key_size, 4096u), key,
                   (unsigned long long)bytes, (unsigned long long)total,
                   (unsigned long long)left);
}

int run_check_memory(const struct plan *plan, const struct block_setup *setup, const char *dest,
                     uint64_t memory_bytes, struct sheaf_error *err)
{
    struct block b = { .plan = plan, .setup = setup };
    uint64_t limit;
    int code = run_memory_left(setup, dest, run_largest_shard(plan, 0, plan->shard_count),
                               memory_bytes, &limit, err);

    for (size_t i = 0; i < plan->shard_count && code == SHEAF_OK; i++) {
        const struct plan_shard *shard = &plan->shards[i];
        const uint64_t end = shard->sample + shard->sample_count;

        for (b.first = shard->sample; b.first < end && code == SHEAF_OK; b.first = b.end) {
            struct block_need need;
            uint64_t total;

            b.end = plan_block_end(plan, b.first, end);
            if (plan->samples[b.end - 1].payload_bytes < BLOCK_BYTES)
                continue;
            need = block_need_planned(&b, BLOCK_USUAL);
            total = block_need_total(&need, setup);
            if (total > limit)
                code = refuse_sample(&b, total, limit, err);
        }
    }
    return code;
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
    slot->block.plan = plan;
    slot->block.shard = &slot->shard;
    slot->block.first = *at;
    slot->block.end = plan_block_end(plan, *at, shard_end);
    slot->block.at_worst = false;
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

/* A shard whose blocks are under way, or about to be. */
struct loaded {
    struct plan_batch batch;
    uint64_t end;               /* it is over when so many blocks have been consumed */
    struct loaded *next;
};

struct loaded_list {
    struct loaded *first, **last;
};

static void drop_first(struct loaded_list *list)
{
    struct loaded *first = list->first;

    list->first = first->next;
    if (list->first == NULL)
        list->last = &list->first;
    plan_batch_free(&first->batch);
    free(first);
}

static int run_shard(struct engine *e, struct loaded *l, struct sheaf_error *err)
{
    const struct plan_shard *shard = &l->batch.plan.shards[0];
    uint64_t at = shard->sample;
    int code = SHEAF_OK;

    while (code == SHEAF_OK && at < shard->sample + shard->sample_count)
        code = run_block(e, &l->batch.plan, shard, &at, err);
    l->end = e->consumed + e->in_flight;
    return code;
}

static int load_and_run(struct engine *e, struct loaded_list *list, run_load_fn *load,
                        void *context, size_t i, struct sheaf_error *err)
{
    struct loaded *l = calloc(1, sizeof(*l));
    int code;

    while (list->first != NULL && list->first->end <= e->consumed)
        drop_first(list);
    if (l == NULL)
        return err_memory(err, sizeof(*l));
    *list->last = l;
    list->last = &l->next;
    code = load(context, i, &l->batch, err);
    return code == SHEAF_OK ? run_shard(e, l, err) : code;
}

int run_shards(struct engine *e, size_t shard_count, const bool *kept, run_load_fn *load,
               void *context, struct sheaf_error *err)
{
    struct loaded_list list = { .last = &list.first };
    int code = SHEAF_OK;

    for (size_t i = 0; i < shard_count && code == SHEAF_OK; i++)
        if (!kept[i])
            code = load_and_run(e, &list, load, context, i, err);
    if (code == SHEAF_OK)
        code = engine_drain(e, err);
    if (code != SHEAF_OK)
        engine_stop(e);
    while (list.first != NULL)
        drop_first(&list);
    return code;
}

unsigned run_jobs(unsigned jobs, bool is_remote)
{
    if (jobs == 0)
        jobs = MIN(workers_processors(), 8u);
    return is_remote ? jobs + FETCHING_JOBS : jobs;
}
