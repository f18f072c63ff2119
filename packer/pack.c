/* SPDX-License-Identifier: MIT
 *
 * sheaf_pack: scan, plan, pack, publish. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "packer/engine.h"
#include "packer/output.h"
#include "packer/pack_options.h"
#include "packer/plan/plan.h"
#include "packer/plan/plan_stash.h"
#include "packer/publish.h"
#include "packer/run.h"
#include "packer/source/source.h"
#include "store/store.h"

struct pack {
    struct sheaf_pack_options options;
    const char *dest;
    struct source source;
    struct catalog catalog;
    struct problems problems;
    struct watch watch;
    struct plan plan;           /* its samples are in the stash while it is packed */
    struct plan_stash stash;
    struct block_setup setup;
    struct target target;
    bool *kept;                 /* shards that an earlier run has finished */
    struct sheaf_pack_result result;
};

/* ---- Scan and plan --------------------------------------------------------------------------- */

/* Its shards would be packed as samples. */
static int refuse_data_set(const struct source *source, struct sheaf_error *err)
{
    struct manifest manifest;

    if (!source->ops->is_tree ||
        target_read_manifest(source->url, &manifest, NULL) != SHEAF_OK)
        return SHEAF_OK;
    manifest_clear(&manifest);
    return err_set(err, SHEAF_ERR_ARGUMENT, "%s: is a data set, not files to pack: convert it, "
                   "or unpack it first", source->url);
}

static int scan(struct pack *p, const char *source, struct sheaf_error *err)
{
    struct scan scan = { .catalog = &p->catalog, .problems = &p->problems, .watch = &p->watch };
    int code = source_open(source, p->options.root, &p->source, err);

    if (code == SHEAF_OK)
        code = refuse_data_set(&p->source, err);
    if (code == SHEAF_OK && !p->options.dry_run)
        code = source_refuse(&p->source, p->dest, err);
    if (code != SHEAF_OK)
        return code;
    code = source_scan(&p->source, &scan, err);
    p->result.files = scan.found;
    p->result.passed_over = scan.passed_over;
    p->result.left_out = scan.left_out;
    return code;
}

/* Shards have their sources in the journal, so that only those are packed again of which a file has
 * changed since. */
static int identify(struct pack *p, struct sheaf_error *err)
{
    char *place = source_place(&p->source);

    if (place == NULL)
        return err_memory(err, strlen(p->source.root));
    plan_identify(&p->plan, place, false);
    free(place);
    return SHEAF_OK;
}

static int make_plan(struct pack *p, const char *source, struct sheaf_error *err)
{
    int code = plan_make(&p->catalog, &p->options, &p->problems, &p->plan, err);

    for (size_t i = 0; i < p->plan.sample_count && code == SHEAF_OK; i++)
        p->result.files_packed += p->plan.samples[i].file_count;
    code = problems_after(&p->problems, code, err);
    if (code == SHEAF_OK)
        code = problems_conserve(&p->problems, p->result.files, p->result.files_packed, err);
    if (code == SHEAF_OK && p->plan.sample_count == 0)
        code = err_set(err, SHEAF_ERR_NOT_FOUND, "%s: no file that could be packed (%llu found)",
                       source, (unsigned long long)p->result.files);
    if (code == SHEAF_OK)
        code = identify(p, err);
    p->result.plan_bytes = p->plan.memory_bytes;
    p->setup.source = &p->source;
    p->setup.interrupt = p->options.interrupt;
    return code;
}

static int show_plan(struct pack *p, struct sheaf_error *err)
{
    for (size_t i = 0; i < p->plan.shard_count; i++) {
        const struct plan_shard *shard = &p->plan.shards[i];
        char name[SHARD_NAME_BYTES];
        const struct sheaf_plan_shard shown = {
            .split = p->plan.splits[shard->split].name, .name = name,
            .samples = shard->sample_count, .payload_bytes = shard->payload_bytes,
        };
        int code = target_shard_name(&p->target, shard, name, err);

        if (code != SHEAF_OK)
            return code;
        if (p->options.plan != NULL)
            p->options.plan(p->options.context, &shown);
    }
    p->result.samples = p->plan.sample_count;
    p->result.payload_bytes = p->plan.payload_bytes;
    p->result.shards = p->plan.shard_count;
    return SHEAF_OK;
}

/* ---- What is there already ------------------------------------------------------------------- */

/* A finished shard is no use if its files have changed since, and one without the files that were
 * skipped is none if none may be skipped. */
static int find_kept(struct pack *p, struct engine *e, struct sheaf_error *err)
{
    struct journal_entry entry = { .facts = { .bytes = 0 } };
    int code = SHEAF_OK;

    for (size_t i = 0; i < p->plan.shard_count && code == SHEAF_OK; i++) {
        const struct plan_shard *shard = &p->plan.shards[i];
        char name[SHARD_NAME_BYTES];

        code = target_shard_name(&p->target, shard, name, err);
        if (code == SHEAF_OK)
            code = watch_check(&p->watch, err);
        if (code == SHEAF_OK)
            code = target_find_shard(&p->target, shard->split, name, &entry, &p->kept[i], err);
        if (code != SHEAF_OK || !p->kept[i])
            continue;
        p->kept[i] = entry.source == shard->source &&
                     (entry.skipped.size == 0 || p->options.on_error == SHEAF_SKIP);
        if (!p->kept[i])
            continue;
        code = problems_read(&p->problems, (const char *)entry.skipped.data, entry.skipped.size,
                             err);
        engine_count(e, &entry.facts);
        e->result.shards_kept++;
        e->progress.done_bytes += shard->payload_bytes;
        e->progress.done_count += shard->sample_count;
        watch_show(&p->watch, &e->progress);
    }
    journal_entry_free(&entry);
    return code;
}

/* What shards take beyond their payload: at most two tar headers with padding for a file, and
 * some for the index.  With a codec, nobody knows. */
static int check_space(struct pack *p, struct sheaf_error *err)
{
    uint64_t needed = 1 << 20, space;
    int code = store_free_space(p->dest, &space, err);

    if (code != SHEAF_OK || p->setup.codec != NULL)
        return code;
    for (size_t i = 0; i < p->plan.shard_count; i++) {
        const struct plan_shard *shard = &p->plan.shards[i];

        if (p->kept[i])
            continue;
        needed += shard->payload_bytes + 1024 * (shard->sample_count + p->stash.shards[i].files);
    }
    if (needed > space)
        return err_set(err, SHEAF_ERR_IO, "%s: %llu bytes are free there, about %llu are needed",
                       p->dest, (unsigned long long)space, (unsigned long long)needed);
    return SHEAF_OK;
}

/* ---- Pack ------------------------------------------------------------------------------------ */

static void take_result(struct pack *p, const struct engine *e)
{
    const struct sheaf_pack_result before = p->result;

    p->result = e->result;
    p->result.files = before.files;
    p->result.passed_over = before.passed_over;
    p->result.left_out = before.left_out;
    p->result.plan_bytes = before.plan_bytes;
    p->result.memory_peak_bytes = engine_peak(e);
}

static int load(void *context, size_t shard, struct plan_batch *batch, struct sheaf_error *err)
{
    const struct pack *p = context;

    return plan_stash_take(&p->stash, shard, batch, err);
}

static int run_engine(struct pack *p, struct sheaf_error *err)
{
    struct engine e;
    int code = plan_stash_make(&p->stash, &p->plan, &p->catalog, err);

    if (code != SHEAF_OK)
        return code;
    p->kept = calloc(p->plan.shard_count, sizeof(p->kept[0]));
    if (p->kept == NULL)
        return err_memory(err, p->plan.shard_count);
    p->setup.context.classes = p->plan.classes;
    p->setup.context.class_count = p->plan.class_count;
    code = engine_open(&e, &p->setup, &p->target, &p->problems, &p->watch,
                       run_jobs(p->options.jobs, p->source.is_remote),
                       run_largest_shard(&p->plan, 0, p->plan.shard_count),
                       p->options.memory_bytes, err);
    e.progress.total_bytes = p->plan.payload_bytes;
    e.progress.total_count = p->plan.sample_count;
    if (code == SHEAF_OK && p->options.resume)
        code = find_kept(p, &e, err);
    if (code == SHEAF_OK)
        code = check_space(p, err);
    if (code == SHEAF_OK)
        code = run_shards(&e, p->plan.shard_count, p->kept, load, p, err);
    take_result(p, &e);
    engine_close(&e);
    return code;
}

/* ---- Publish --------------------------------------------------------------------------------- */

/* Nothing is published that is not all there was, or not anything. */
static int check_sum(const struct pack *p, struct sheaf_error *err)
{
    const int code = problems_conserve(&p->problems, p->result.files, p->result.files_packed, err);

    return code == SHEAF_OK ? problems_check_packed(&p->problems, p->result.samples, err) : code;
}

static int publish(struct pack *p, struct sheaf_error *err)
{
    char *json[SPLIT_LIMIT] = { NULL };
    int code = SHEAF_OK;

    for (uint32_t s = 0; s < p->plan.split_count && code == SHEAF_OK; s++) {
        json[s] = pack_options_json(&p->options, p->source.ops->name, p->plan.hash,
                                    p->plan.splits[s].name);
        code = json[s] == NULL ? err_memory(err, 1024) : SHEAF_OK;
    }
    if (code == SHEAF_OK)
        code = publish_plan(&p->target, &p->problems, &p->plan, p->options.label_base,
                            (const char *const *)json, err);
    for (uint32_t s = 0; s < p->plan.split_count; s++)
        free(json[s]);
    return code == SHEAF_OK ? target_end(&p->target, err) : code;
}

/* Of a data set that is there already: names and sizes are those of the plan. */
static int finished_result(struct pack *p, struct sheaf_error *err)
{
    const int code = target_result(&p->target, &p->result, err);

    p->result.files_packed = p->result.files - p->result.skipped;
    return code;
}

static int pack_to_dest(struct pack *p, struct sheaf_error *err)
{
    bool finished = false;
    int code = store_make_directory(p->dest, err);

    if (code == SHEAF_OK)       /* its name may lead through what was not there before */
        code = source_refuse(&p->source, p->dest, err);
    if (code == SHEAF_OK)
        code = target_prepare(&p->target, p->options.resume, p->options.overwrite, &finished,
                              err);
    if (code == SHEAF_OK && finished)
        return finished_result(p, err);
    if (code != SHEAF_OK)
        return code;
    if (p->options.resume || p->options.overwrite)
        code = target_clean(&p->target, err);
    if (code == SHEAF_OK)
        code = run_engine(p, err);
    if (code == SHEAF_OK)
        code = watch_check(&p->watch, err);
    if (code == SHEAF_OK)
        code = check_sum(p, err);
    if (code == SHEAF_OK)
        code = publish(p, err);
    if (code != SHEAF_OK)
        target_abandon(&p->target, p->options.resume || p->result.samples > 0);
    p->result.skipped = p->problems.count;
    return code;
}

static int run(struct pack *p, const char *source, struct sheaf_error *err)
{
    int code = scan(p, source, err);

    if (code == SHEAF_OK)
        code = make_plan(p, source, err);
    if (code == SHEAF_OK)
        code = target_open(&p->target, p->dest, &p->setup, p->options.prefix, &p->plan, err);
    p->result.skipped = p->problems.count;
    if (code != SHEAF_OK)
        return code;
    code = run_check_memory(&p->plan, &p->setup, p->dest, p->options.memory_bytes, err);
    if (code != SHEAF_OK)
        return code;
    if (!p->options.dry_run)
        return pack_to_dest(p, err);
    code = p->options.resume || p->options.overwrite ? SHEAF_OK : target_look(&p->target, err);
    return code == SHEAF_OK ? show_plan(p, err) : code;
}

int sheaf_pack(const char *source, const char *dest, const struct sheaf_pack_options *options,
               struct sheaf_pack_result *result, struct sheaf_error *error)
{
    struct pack p = { .dest = dest, .source.root_fd = -1 };
    struct sheaf_error found;
    int code = pack_options_take(options, &p.options, &found);

    if (code == SHEAF_OK) {
        pack_options_setup(&p.options, &p.setup);
        pack_options_watch(&p.options, &p.watch, &p.problems);
        code = run(&p, source, &found);
    }
    target_close(&p.target);
    plan_stash_free(&p.stash);
    plan_free(&p.plan);
    catalog_free(&p.catalog);
    problems_free(&p.problems);
    source_close(&p.source);
    free(p.kept);
    if (result != NULL)
        *result = p.result;
    if (code != SHEAF_OK && error != NULL)
        *error = found;
    return code;
}
