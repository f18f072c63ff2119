/* SPDX-License-Identifier: MIT
 *
 * Packs the shards of a plan: finds finished shards, divides the others into blocks (about 4 MiB of
 * samples), and takes memory for the blocks from the budget. The samples of a shard are in memory
 * only while its blocks are packed. */
#include "packer/run.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "packer/finished.h"
#include "store/store.h"

#define FETCHING_JOBS 4u

static uint64_t run_payload_of(const struct plan *plan, uint64_t first, uint64_t end)
{
    uint64_t bytes = 0;

    for (uint64_t i = first; i < end; i++)
        bytes += plan->samples[i].payload_bytes;
    return bytes;
}

/* Returns the error about a sample that needs too much memory. The run fails even if bad files are
 * skipped, because the content of a data set must not depend on the memory of a machine. */
static int run_refuse_sample(const struct block *b, uint64_t needed, uint64_t limit,
                             struct sheaf_error *err)
{
    const struct plan_sample *s = &b->plan->samples[b->end - 1];

    err_set(err, SHEAF_ERR_LIMIT, "%s: a sample of %llu bytes needs %llu bytes of memory, the "
            "limit is %llu", b->plan->files[s->file].path, (unsigned long long)s->payload_bytes,
            (unsigned long long)needed, (unsigned long long)limit);
    return err_because(err, SHEAF_ERR_LIMIT, SHEAF_REASON_MEMORY);
}

/* Takes the memory for a block from the budget. If the whole budget is too small for the block, the
 * error names the block's last sample. Only this sample can be too large, because samples are added
 * to a block only until it has BLOCK_BYTES bytes. */
static int charge(struct engine *e, struct slot *slot, struct sheaf_error *err)
{
    struct block *b = &slot->block;
    struct block_need need = block_need_planned(b, BLOCK_USUAL);
    int code = engine_charge(e, slot, &need, err);

    if (code != SHEAF_ERR_LIMIT)
        return code;
    need = block_need_planned(b, BLOCK_USUAL);
    return run_refuse_sample(b, block_need_total(&need, e->setup), e->budget.limit, err);
}

uint64_t run_largest_shard(const struct plan *plan, size_t first, size_t end)
{
    uint64_t most = 0;

    for (size_t i = first; i < end; i++)
        most = MAX(most, pack_output_shard_bytes(&plan->shards[i]));
    return most;
}

/* Sets *left to the number of bytes of the run's memory that remain for blocks. Some memory is used
 * for images, and some for data on its way to the destination. Returns SHEAF_ERR_LIMIT if this data
 * alone needs more than the run's memory. */
static int memory_left(const struct pack_run *run, uint64_t memory_bytes, uint64_t *left,
                       struct sheaf_error *err)
{
    uint64_t sent;
    const uint64_t blocks = memory_bytes - setup_image_bytes(run->setup, memory_bytes);
    const int code = engine_share(run->output->dest, run->setup,
                                  run_largest_shard(run->rows.plan, run->first, run->end), blocks,
                                  &sent, err);

    *left = code == SHEAF_OK ? blocks - sent : 0;
    return code;
}

/* Returns a memory limit, in whole MiB, of which `needed` bytes remain for a block. */
static uint64_t memory_enough(const struct pack_run *run, uint64_t needed)
{
    const uint64_t unit = (uint64_t)1 << 20;
    uint64_t memory = needed, left = 0;

    while (memory_left(run, memory, &left, NULL) != SHEAF_OK || left < needed)
        memory = ((memory + needed - left) / unit + 1) * unit;
    return (memory + unit - 1) / unit * unit;
}

/* Upper limit for the memory that a block needs in addition to four times the size of its files,
 * unless file names are long. */
#define OVERHEAD_BYTES ((uint64_t)16 << 20)

/* Returns whether `left` bytes of memory are certainly enough for every block of the shard. If so,
 * the caller need not examine the blocks one by one. */
static bool surely_fits(const struct plan_shard *shard, uint64_t left)
{
    const uint64_t bytes = MIN(shard->payload_bytes, shard->largest + BLOCK_BYTES);

    return shard->largest < BLOCK_BYTES || 4 * bytes + bytes / 256 + OVERHEAD_BYTES <= left;
}

/* The sample that needs most memory, among the samples that need more than the run has. */
struct too_large {
    uint64_t count;             /* number of samples that need more than the run has */
    uint64_t needed, bytes;     /* memory that the sample needs, and its size */
    char path[512];             /* of its first file, perhaps truncated */
};

/* Finds the samples of loaded shards that need more than `left` bytes of memory. */
static void find_too_large(const struct pack_run *run, const struct plan *plan, uint64_t left,
                           struct too_large *found)
{
    struct block b = { .plan = plan, .setup = run->setup };

    for (; b.first < plan->sample_count; b.first = b.end) {
        const struct plan_sample *s;
        struct block_need need;
        uint64_t total;

        b.end = plan_block_end(plan, b.first, plan->sample_count);
        s = &plan->samples[b.end - 1];
        if (s->payload_bytes < BLOCK_BYTES)
            continue;
        need = block_need_planned(&b, BLOCK_USUAL);
        total = block_need_total(&need, run->setup);
        found->count += total > left;
        if (total <= MAX(left, found->needed))
            continue;
        found->needed = total;
        found->bytes = s->payload_bytes;
        snprintf(found->path, sizeof(found->path), "%s", plan->files[s->file].path);
    }
}

/* Returns the error about samples that need too much memory. It names a limit that is enough for
 * all samples, so that the user need not raise the limit step by step. */
static int refuse_too_large(const struct pack_run *run, const struct too_large *found,
                            struct sheaf_error *err)
{
    char others[80] = "";

    if (found->count > 1)
        snprintf(others, sizeof(others), " (and %llu other%s also too much)",
                 (unsigned long long)found->count - 1, found->count == 2 ? " needs" : "s need");
    err_set(err, SHEAF_ERR_LIMIT, "%s: a sample of %llu bytes needs %llu bytes of memory%s, the "
            "limit is %llu: %llu MiB are enough for all samples", found->path,
            (unsigned long long)found->bytes, (unsigned long long)found->needed, others,
            (unsigned long long)run->options->memory_bytes,
            (unsigned long long)memory_enough(run, found->needed) >> 20);
    return err_because(err, SHEAF_ERR_LIMIT, SHEAF_REASON_MEMORY);
}

int run_check_memory(const struct pack_run *run, struct sheaf_error *err)
{
    const struct plan *plan = run->rows.plan;
    struct plan_batch batch = { .plan.file_count = 0 };
    struct too_large found = { .count = 0 };
    uint64_t left;
    int code = memory_left(run, run->options->memory_bytes, &left, err);

    for (size_t i = run->first; i < run->end && code == SHEAF_OK; i++) {
        if (surely_fits(&plan->shards[i], left))
            continue;
        code = plan_rows_load(&run->rows, i, i + 1, &batch, err);
        if (code == SHEAF_OK)
            find_too_large(run, &batch.plan, left, &found);
        plan_batch_free(&batch);
    }
    return code == SHEAF_OK && found.count != 0 ? refuse_too_large(run, &found, err) : code;
}

/* ---- What is there already ------------------------------------------------------------------- */

/* A run that is under way. */
struct running {
    const struct pack_run *run;
    struct engine engine;
    /* for each shard, true if an earlier run has finished it, so that this run keeps it */
    bool *kept;
    uint64_t batch_bytes;       /* memory of the largest loaded shard */
};

static void count_kept(struct running *r, const struct plan_shard *shard)
{
    struct engine *e = &r->engine;

    e->result.shards_kept++;
    e->progress.done_bytes += shard->payload_bytes;
    e->progress.done_count += shard->sample_count;
    watch_show(r->run->watch, &e->progress);
}

/* Returns whether this run can keep a shard that an earlier run has finished. The shard's source
 * files must be unchanged. If the earlier run skipped files of the shard, this run must also be set
 * to skip bad files. */
static bool is_of_use(const struct pack_run *run, const struct plan_shard *shard,
                      const struct journal_entry *entry)
{
    return entry->source == shard->source &&
           (entry->skipped.size == 0 || run->problems->on_error == SHEAF_SKIP);
}

/* Sets *kept to whether this run can keep a finished shard, and counts such a shard. The shard and
 * its index files must be as the shard's journal entry describes them. If the sizes and stamps in
 * the listing of the destination already show this, the files are not read. */
static int keep_shard(struct running *r, const struct output_listing *listing,
                      const struct plan_shard *shard, const struct journal_entry *listed,
                      bool *kept, struct sheaf_error *err)
{
    const struct pack_run *run = r->run;
    struct journal_entry own = { .facts = { .bytes = 0 } };
    const struct journal_entry *entry = listed;
    char name[SHARD_NAME_BYTES];
    uint64_t stamp;
    int code = pack_output_name(run->output, shard, name, err);

    *kept = code == SHEAF_OK && listing != NULL &&
            output_listing_is_known(listing, shard->split, listed);
    if (code == SHEAF_OK && !*kept) {
        entry = &own;
        code = output_find_shard(run->output, shard->split, name, &own, kept, &stamp, err);
    }
    *kept = code == SHEAF_OK && *kept && is_of_use(run, shard, entry);
    if (*kept)
        code = finished_take(entry, run->problems, &r->engine.result, err);
    if (*kept && code == SHEAF_OK)
        count_kept(r, shard);
    journal_entry_free(&own);
    return code;
}

static int look_at_shard(void *context, const struct finished *finished, size_t i,
                         const struct journal_entry *entry, struct sheaf_error *err)
{
    struct running *r = context;
    const struct pack_run *run = r->run;
    const int code = entry == NULL ? SHEAF_OK
                   : keep_shard(r, finished->listing, &finished->plan->shards[i], entry,
                                &r->kept[i - run->first], err);

    return code == SHEAF_OK ? watch_check(run->watch, err) : code;
}

static int find_kept(struct running *r, struct sheaf_error *err)
{
    struct finished finished = {
        .output = r->run->output, .plan = r->run->rows.plan,
        .first = r->run->first, .end = r->run->end, .may_lack_listing = true,
    };

    return finished_each(&finished, look_at_shard, r, err);
}

/* Checks that the destination has enough free space for the shards that this run packs. In addition
 * to its payload, a shard needs at most two tar headers with padding for each file, and a little
 * for the index. With a codec, or if images are converted, the size of the shards is unknown, and
 * nothing is checked. `kept` tells which shards exist; NULL means that none exists. */
static int check_space(const struct pack_run *run, const bool *kept, struct sheaf_error *err)
{
    const char *dest = run->output->dest;
    uint64_t needed = 1 << 20;

    if (run->setup->codec != NULL || setup_converts(run->setup))
        return SHEAF_OK;
    for (size_t i = run->first; i < run->end; i++) {
        const struct plan_shard *shard = &run->rows.plan->shards[i];

        if (kept == NULL || !kept[i - run->first])
            needed += shard->payload_bytes +
                      1024 * (shard->sample_count + run->rows.sections[i].files);
    }
    return store_check_space(dest, needed, run->end - run->first, err);
}

int run_check_space(const struct pack_run *run, struct sheaf_error *err)
{
    return check_space(run, NULL, err);
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

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
    slot->block.end = plan_shard_block_end(plan, shard, *at);
    slot->block.at_worst = false;
    slot->block.extra = 0;
    slot->begins_shard = *at == shard->sample;
    slot->block.ends_shard = slot->block.end == shard_end;
    slot->planned_samples = slot->block.end - *at;
    slot->planned_bytes = run_payload_of(plan, *at, slot->block.end);
    *at = slot->block.end;
    code = charge(e, slot, err);
    if (code == SHEAF_OK) {
        slot->block.job.run = block_run;
        engine_submit(e, slot);
    }
    return code;
}

/* A shard of the plan whose samples are in memory, because its blocks are being packed or are
 * next. */
struct loaded {
    struct plan_batch batch;
    /* Number of the run's blocks up to the end of this shard. When this number of blocks was
     * written, the struct can be freed. */
    uint64_t end;
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
    int code;

    /* A shard that was edited may have no samples. Its end must still be written, so at least one
     * block is packed. */
    do {
        code = run_block(e, &l->batch.plan, shard, &at, err);
    } while (code == SHEAF_OK && at < shard->sample + shard->sample_count);
    l->end = e->consumed + e->in_flight;
    return code;
}

static int load_and_run(struct running *r, struct loaded_list *list, size_t i,
                        struct sheaf_error *err)
{
    struct loaded *l = calloc(1, sizeof(*l));
    int code;

    while (list->first != NULL && list->first->end <= r->engine.consumed)
        drop_first(list);
    if (l == NULL)
        return err_memory(err, sizeof(*l));
    *list->last = l;
    list->last = &l->next;
    code = plan_rows_load(&r->run->rows, i, i + 1, &l->batch, err);
    r->batch_bytes = MAX(r->batch_bytes, catalog_memory(&l->batch.catalog));
    return code == SHEAF_OK ? run_shard(&r->engine, l, err) : code;
}

/* Packs all shards of the run that are not kept. After a failure, stops the engine before the
 * loaded samples are freed, because blocks that are being filled still use them. */
static int run_shards(struct running *r, struct sheaf_error *err)
{
    const struct pack_run *run = r->run;
    struct loaded_list list = { .last = &list.first };
    int code = SHEAF_OK;

    for (size_t i = run->first; i < run->end && code == SHEAF_OK; i++)
        if (!r->kept[i - run->first])
            code = load_and_run(r, &list, i, err);
    if (code == SHEAF_OK)
        code = engine_drain(&r->engine, err);
    if (code == SHEAF_OK)
        problems_tell_words(run->problems);
    if (code != SHEAF_OK)
        engine_stop(&r->engine);
    while (list.first != NULL)
        drop_first(&list);
    return code;
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* Returns the number of worker threads. If the files are remote objects, adds FETCHING_JOBS
 * threads, because more threads keep more requests running. A thread that waits for objects takes
 * no processor time. */
static unsigned jobs_of(const struct pack_run *run)
{
    const unsigned jobs = run->options->jobs == 0 ? MIN(workers_processors(), 8u)
                                                  : run->options->jobs;

    return run->setup->source->is_remote ? MIN(jobs + FETCHING_JOBS, SHEAF_THREADS_MOST) : jobs;
}

static int open_engine(struct running *r, struct sheaf_error *err)
{
    const struct pack_run *run = r->run;
    const struct plan *plan = run->rows.plan;
    const int code = engine_open(&r->engine, run->setup, run->output, run->problems, run->watch,
                                 jobs_of(run), run_largest_shard(plan, run->first, run->end),
                                 run->options->memory_bytes, err);

    for (size_t i = run->first; i < run->end; i++) {
        r->engine.progress.total_bytes += plan->shards[i].payload_bytes;
        r->engine.progress.total_count += plan->shards[i].sample_count;
    }
    return code;
}

int run_plan(const struct pack_run *run, struct sheaf_pack_result *result, struct sheaf_error *err)
{
    struct running r = { .run = run,
                         .kept = calloc(MAX(run->end - run->first, (size_t)1), sizeof(bool)) };
    int code;

    if (r.kept == NULL)
        return err_memory(err, run->end - run->first);
    code = open_engine(&r, err);
    if (code == SHEAF_OK && run->resumes)
        code = find_kept(&r, err);
    if (code == SHEAF_OK)
        code = check_space(run, r.kept, err);
    if (code == SHEAF_OK)
        code = run_shards(&r, err);
    r.engine.result.plan_bytes = r.batch_bytes;
    r.engine.result.memory_peak_bytes = engine_peak(&r.engine);
    pack_output_add(result, &r.engine.result);
    engine_close(&r.engine);
    free(r.kept);
    return code;
}
