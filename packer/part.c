/* SPDX-License-Identifier: MIT
 *
 * sheaf_pack_part: the shards of one part of a stored plan.
 *
 * They are packed as sheaf_pack does it, but their samples are read from the plan, shard by shard,
 * so that memory does not grow with the part. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "packer/engine.h"
#include "packer/pack_options.h"
#include "packer/planned.h"
#include "packer/run.h"

struct part_run {
    struct sheaf_pack_options options;
    struct planned planned;
    struct source source;
    struct problems problems;
    struct watch watch;
    size_t first, end;          /* its shards */
    bool *kept;                 /* of those, the ones that are there */
    struct engine engine;
    struct sheaf_pack_result result;
};

/* Shards that an earlier run of the part, or a twin of it, has finished. */
static int find_kept(struct part_run *p, struct sheaf_error *err)
{
    const struct plan *plan = &p->planned.file.facts.plan;
    struct journal_entry entry = { .facts = { .bytes = 0 } };
    struct engine *e = &p->engine;
    int code = SHEAF_OK;

    for (size_t i = p->first; i < p->end && code == SHEAF_OK; i++) {
        char name[SHARD_NAME_BYTES];
        bool *kept = &p->kept[i - p->first];

        code = planned_name(&p->planned, i, name, err);
        if (code == SHEAF_OK)
            code = watch_check(&p->watch, err);
        if (code == SHEAF_OK)
            code = target_look_for_shard(&p->planned.target, plan->shards[i].split, name, &entry,
                                         kept, err);
        if (code != SHEAF_OK || !*kept)
            continue;
        code = problems_read(&p->problems, (const char *)entry.skipped.data, entry.skipped.size,
                             err);
        engine_count(e, &entry.facts);
        e->result.shards_kept++;
        e->progress.done_bytes += plan->shards[i].payload_bytes;
        e->progress.done_count += plan->shards[i].sample_count;
        watch_show(&p->watch, &e->progress);
    }
    journal_entry_free(&entry);
    return code;
}

static int load(void *context, size_t shard, struct plan_batch *batch, struct sheaf_error *err)
{
    struct part_run *p = context;
    const size_t i = p->first + shard;
    const int code = plan_file_load(&p->planned.file, i, i + 1, batch, err);

    p->result.plan_bytes = MAX(p->result.plan_bytes, catalog_memory(&batch->catalog));
    return code;
}

static void count_planned(struct part_run *p)
{
    const struct plan *plan = &p->planned.file.facts.plan;

    for (size_t i = p->first; i < p->end; i++) {
        p->engine.progress.total_bytes += plan->shards[i].payload_bytes;
        p->engine.progress.total_count += plan->shards[i].sample_count;
        p->result.files += p->planned.file.sections[i].files;
    }
}

static int run_engine(struct part_run *p, struct sheaf_error *err)
{
    struct planned *planned = &p->planned;
    int code = engine_open(&p->engine, &planned->setup, &planned->target, &p->problems,
                           &p->watch,
                           run_jobs(p->options.jobs, p->source.is_remote),
                           run_largest_shard(&planned->file.facts.plan, p->first, p->end),
                           p->options.memory_bytes, err);

    count_planned(p);
    if (code == SHEAF_OK)
        code = find_kept(p, err);
    if (code == SHEAF_OK)
        code = run_shards(&p->engine, p->end - p->first, p->kept, load, p, err);
    p->engine.result.memory_peak_bytes = engine_peak(&p->engine);
    engine_close(&p->engine);
    p->engine.result.plan_bytes = p->result.plan_bytes;
    p->engine.result.files = p->result.files;
    p->result = p->engine.result;
    p->result.skipped = p->problems.count;
    return code == SHEAF_OK ? problems_conserve(&p->problems, p->result.files,
                                                p->result.files_packed, err) : code;
}

static int open_source(struct part_run *p, struct sheaf_error *err)
{
    const struct plan_facts *facts = &p->planned.file.facts;

    return source_reopen(facts->source, facts->root, facts->is_remote, &p->source, err);
}

/* What a shard takes beside its files' bytes is less than that, unless their names are long. */
#define OVERHEAD_BYTES ((uint64_t)16 << 20)

/* Before anything is written: that each of the part's samples fits into the memory.  Only those
 * shards are looked at that could hold one that does not. */
static int check_memory(struct part_run *p, struct sheaf_error *err)
{
    const struct planned *planned = &p->planned;
    const struct plan *plan = &planned->file.facts.plan;
    const char *dest = planned->target.dest;
    struct plan_batch batch = { 0 };
    uint64_t left;
    int code = run_memory_left(&planned->setup, dest, run_largest_shard(plan, p->first, p->end),
                               p->options.memory_bytes, &left, err);

    for (size_t i = p->first; i < p->end && code == SHEAF_OK; i++) {
        const uint64_t payload = plan->shards[i].payload_bytes;

        if (payload < BLOCK_BYTES || 3 * payload + payload / 256 + OVERHEAD_BYTES <= left)
            continue;
        code = plan_file_load(&planned->file, i, i + 1, &batch, err);
        if (code == SHEAF_OK)
            code = run_check_memory(&batch.plan, &planned->setup, dest, p->options.memory_bytes,
                                    err);
        plan_batch_free(&batch);
    }
    return code;
}

static int run(struct part_run *p, uint32_t part, uint32_t parts, struct sheaf_error *err)
{
    const struct plan *plan = &p->planned.file.facts.plan;
    bool finished = false;
    int code = planned_part(plan, part, parts, &p->first, &p->end, err);

    p->planned.setup.source = &p->source;       /* opened only where there is something to do */
    p->source.is_remote = p->planned.file.facts.is_remote;
    if (code == SHEAF_OK && p->planned.file.facts.fingerprint[0] != '\0')
        code = err_set(err, SHEAF_ERR_ARGUMENT, "%s: is the plan of a conversion, and not of "
                       "files", p->planned.file.object->url);
    if (code == SHEAF_OK)
        code = check_memory(p, err);
    if (code == SHEAF_OK)
        code = target_join(&p->planned.target, parts, &finished, err);
    if (code != SHEAF_OK || finished)
        return code;
    p->kept = calloc(MAX(p->end - p->first, (size_t)1), sizeof(p->kept[0]));
    if (p->kept == NULL)
        return err_memory(err, p->end - p->first);
    code = open_source(p, err);
    if (code == SHEAF_OK)
        code = run_engine(p, err);
    /* Meanwhile others may have finished the whole, and have cleaned up behind it. */
    if (code != SHEAF_OK && code != SHEAF_ERR_INTERRUPTED &&
        target_is_finished(&p->planned.target, false, &finished, NULL) == SHEAF_OK && finished)
        code = SHEAF_OK;
    return code;
}

static void close_all(struct part_run *p)
{
    source_close(&p->source);
    planned_close(&p->planned);
    problems_free(&p->problems);
    free(p->kept);
}

int sheaf_pack_part(const char *plan, uint32_t part, uint32_t parts,
                    const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
                    struct sheaf_error *error)
{
    struct part_run p = { .source.root_fd = -1 };
    struct sheaf_error found;
    int code = pack_options_take(options, &p.options, &found);

    if (code == SHEAF_OK)
        code = planned_open(plan, &p.planned, &found);
    if (code == SHEAF_OK) {
        p.options.on_error = p.planned.file.facts.on_error;
        pack_options_watch(&p.options, &p.watch, &p.problems);
        p.planned.setup.interrupt = p.options.interrupt;
        code = run(&p, part, parts, &found);
        close_all(&p);
    }
    if (result != NULL)
        *result = p.result;
    if (code != SHEAF_OK && error != NULL)
        *error = found;
    return code;
}
