/* SPDX-License-Identifier: MIT
 *
 * Implements sheaf_pack. In one call, it makes the plan, packs all its shards and publishes them.
 * An append to a data set differs only in the text of the claim (the file that reserves the
 * directory for the run) and in the way of publishing; see grow.h. The plan can also be stored, so
 * that many processes pack its parts; see part.c. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/manifest_edit.h"
#include "publish/destination.h"
#include "packer/few_fields.h"
#include "packer/pack.h"
#include "packer/pack_options.h"
#include "packer/plan_store.h"
#include "packer/planner.h"
#include "packer/run.h"
#include "store/scopes.h"
#include "store/store.h"

/* A directory into which the run packs. It is the destination of a new data set with all its
 * splits, or a data set to which samples are appended. The run claims the directory: it reserves
 * the directory with a file. */
struct pack_target {
    const char *dest;
    struct grow *grow;          /* the data set that grows; NULL: a new one */
    /* the plan for this target (a directory into which the run packs); its texts, arrays and shards
     * belong to the plan of the whole run */
    struct plan plan;
    size_t first, end;          /* its shards in the whole plan */
    struct output output;
    bool is_claimed;
    /* true if an earlier run has already appended the samples to this data set; `appended` then has
     * the counts of that append */
    bool is_done;
    struct sheaf_pack_result appended;
    uint64_t samples;           /* number of samples that were packed */
};

struct pack {
    struct sheaf_pack_options options;
    const char *dest;
    struct pack_target targets[SPLIT_LIMIT];
    uint32_t target_count;
    /* grows[i] has the facts about the existing data set in targets[i]; NULL if the run makes a new
     * data set */
    struct grow *grows;
    struct plan_grow growing;   /* their facts; only if they grow */
    const char *url;            /* where the plan is stored; NULL: its shards are packed now */
    /* true if the data set was already complete, so that nothing was packed */
    bool is_finished;
    bool has_reports;           /* whether a target has the lists of skipped and converted files */
    /* Used only to resume an append. `last` is the hash of the plan of the last append. is_all_done
     * is true if this run has the same plan and all samples of the plan are already published. */
    const char *last;
    bool is_all_done;
    struct class_list list;     /* until the planner takes it */
    struct planner planner;
    struct problems problems, converted;
    struct watch watch;
    struct plan plan;
    struct block_setup setup;
    struct sheaf_pack_result result;
    /* In a dry run, the error that a real run would return. Its code is SHEAF_OK if a real run
     * would succeed. */
    struct sheaf_error foreseen;
    struct tally fields[SPLIT_LIMIT];   /* in a dry run: fields of each split's samples */
};

typedef int target_fn(struct pack *p, struct pack_target *target, struct sheaf_error *err);

/* Calls do_it() for each target, until a call fails. */
static int each_target(struct pack *p, target_fn *do_it, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (uint32_t i = 0; i < p->target_count && code == SHEAF_OK; i++)
        code = do_it(p, &p->targets[i], err);
    return code;
}

/* Returns whether the run only shows its plan. */
static bool pack_is_dry(const struct pack *p)
{
    return p->options.dry_run && p->url == NULL;
}

/* ---- Plan ------------------------------------------------------------------------------------ */

static int pack_make_plan(struct pack *p, const char *const *sources, size_t count,
                          struct sheaf_error *err)
{
    struct planner *planner = &p->planner;
    const bool is_stored = p->url != NULL, is_dry = pack_is_dry(p);
    int code = planner_open(planner, &p->options, &p->list, &p->problems, &p->watch, &p->plan,
                            is_stored ? p->url : p->dest, err);

    if (p->grows != NULL)
        planner->sort.grow = &p->growing;
    else if (is_dry)
        planner->fields = p->fields;
    planner->tells_cls = is_dry || is_stored;
    planner->finds_empty = p->options.on_error == SHEAF_FAIL;
    planner->url = p->url;
    if (code == SHEAF_OK)
        code = planner_make(planner, sources, count, is_dry ? NULL : p->dest, err);
    /* The identity of a plan is a hash by which a later run recognises that it may resume this run.
     * The identity of a stored plan covers the states of the source files (sizes and times). If the
     * shards are packed now, the journal stores a hash of these states for each shard instead. So
     * if one file changes, a later run packs only the shard of this file again. */
    if (code == SHEAF_OK)
        code = planner_identify(planner, is_stored, err);
    planner_result(planner, &p->result);
    return code;
}

/* Sets the plan and the shards of a target. If there are several targets, each is one split of the
 * whole plan, and is packed like a data set without splits. */
static void take_split(struct pack *p, struct pack_target *t)
{
    const struct plan_split *split = &p->plan.splits[t - p->targets];

    t->plan = p->plan;
    t->end = p->plan.shard_count;
    if (p->target_count == 1)
        return;
    t->plan.splits[0] = *split;
    t->plan.splits[0].name[0] = '\0';
    t->plan.split_count = 1;
    t->first = split->shard;
    t->end = split->shard + (size_t)split->shard_count;
    for (size_t k = t->first; k < t->end; k++)
        p->plan.shards[k].split = 0;
}

static int show_target(struct pack *p, struct pack_target *t, struct sheaf_error *err)
{
    const struct plan_split *splits = &p->plan.splits[t - p->targets];

    for (size_t i = t->first; i < t->end; i++) {
        const struct plan_shard *shard = &p->plan.shards[i];
        char name[SHARD_NAME_BYTES];
        const struct sheaf_plan_shard shown = {
            .split = splits[shard->split].name, .name = name,
            .samples = shard->sample_count, .payload_bytes = shard->payload_bytes,
        };
        const int code = pack_output_name(&t->output, shard, name, err);

        if (code != SHEAF_OK)
            return code;
        if (p->options.plan != NULL)
            p->options.plan(p->options.context, &shown);
    }
    return SHEAF_OK;
}

/* Sets the result of a run that only makes a plan, and reports the classes of the plan. */
static void pack_count_planned(struct pack *p)
{
    planner_count_classes(&p->planner);
    p->result.samples = p->plan.sample_count;
    p->result.payload_bytes = p->plan.payload_bytes;
    p->result.shards = p->plan.shard_count;
}

/* ---- Publish --------------------------------------------------------------------------------- */

/* Returns whether an append has nothing to add, because the data set already has all samples of the
 * source. */
static bool has_nothing_new(const struct pack *p)
{
    return p->result.samples == 0 && problems_have_known(&p->problems);
}

/* Returns an error if a file of the source is neither packed nor skipped, or if no sample was
 * packed. The caller then does not publish the data set. */
static int pack_check_sum(const struct pack *p, struct sheaf_error *err)
{
    const int code = problems_conserve(&p->problems, p->result.files, p->result.files_packed, err);

    if (code != SHEAF_OK || has_nothing_new(p))
        return code;
    return problems_check_packed(&p->problems, p->result.samples, err);
}

/* Publishes the samples of a target. The lists of skipped and converted files are published with
 * the first target. */
static int publish_target(struct pack *p, struct pack_target *t, struct sheaf_error *err)
{
    const char *const *json = (const char *const *)p->planner.options_json;
    int code;

    p->has_reports |= t->is_done;
    if (!t->is_claimed)
        return SHEAF_OK;
    t->is_claimed = false;
    if (t->grow != NULL && t->samples == 0) {           /* the data set does not change */
        output_abandon(&t->output, false);
        return SHEAF_OK;
    }
    t->output.lacks_reports = p->has_reports;
    p->has_reports = true;
    code = pack_output_publish_plan(&t->output, &p->problems, &t->plan, p->options.label_base,
                                    json + (t - p->targets), err);
    if (code == SHEAF_OK)
        code = output_end(&t->output, err);
    t->is_claimed = code != SHEAF_OK;
    return code;
}

/* Sets the result of a run that packed nothing, because its data set was already complete. */
static int finished_result(struct pack *p, struct sheaf_error *err)
{
    const int code = destination_result(&p->targets[0].output, &p->result, err);

    p->result.files_packed = p->result.files - p->result.skipped;
    return code;
}

static enum output_ask pack_ask_of(const struct pack *p)
{
    return output_ask(p->options.resume, p->options.overwrite, p->grows != NULL);
}

static void abandon(struct pack *p)
{
    for (uint32_t i = 0; i < p->target_count; i++) {
        struct pack_target *t = &p->targets[i];

        if (t->is_claimed)
            output_abandon(&t->output, t->output.continues || p->result.samples > 0);
        t->is_claimed = false;
    }
}

/* ---- Run ------------------------------------------------------------------------------------- */

/* Returns the pack_run for the shards of a target. */
static struct pack_run run_of(struct pack *p, const struct pack_target *t)
{
    planner_setup(&p->planner, &p->setup);
    return (struct pack_run){
        .options = &p->options, .setup = &p->setup, .output = &t->output,
        .problems = &p->problems, .watch = &p->watch, .rows = planner_rows(&p->planner),
        .first = t->first, .end = t->end, .resumes = p->options.resume,
    };
}

/* Packs the shards of one target (a data set into which the run packs). Even after a failure,
 * p->result counts the packed samples. */
static int run_target(struct pack *p, struct pack_target *t, struct sheaf_error *err)
{
    const struct pack_run run = run_of(p, t);
    struct sheaf_pack_result one = { .shards = 0 };
    const int code = t->is_done || t->first == t->end ? SHEAF_OK : run_plan(&run, &one, err);

    t->samples = one.samples;
    if (t->grow != NULL && one.samples == 0)    /* such shards are not published */
        one.shards = one.shards_kept = one.stored_bytes = 0;
    pack_output_add(&p->result, &one);
    return code;
}

/* Called if an earlier run has already published this append. Adds the samples of the append to the
 * result. Does the steps after the publication once more, because the earlier run may have been
 * killed before them. */
static int pack_finish_done(struct pack *p, struct pack_target *t, struct sheaf_error *err)
{
    const struct plan_rows rows = planner_rows(&p->planner);

    for (size_t i = t->first; i < t->end; i++)
        t->appended.files_packed += rows.sections[i].files;
    pack_output_add(&p->result, &t->appended);
    return output_grown(&t->output, err);
}

/* Claims a target. Sets p->is_finished if its data set is already complete. */
static int claim_target(struct pack *p, struct pack_target *t, struct sheaf_error *err)
{
    int code = t->grow != NULL ? SHEAF_OK
             : store_make_directory(t->dest, &t->output.journal.made, err);

    if (t->is_done)
        return pack_finish_done(p, t, err);
    if (code == SHEAF_OK)       /* DEST exists now, so its real path is known */
        code = planner_refuse(&p->planner, t->dest, err);
    if (code == SHEAF_OK)
        code = output_claim(&t->output, pack_ask_of(p), &p->is_finished, err);
    t->is_claimed = code == SHEAF_OK && !p->is_finished;
    if (t->is_claimed && (p->options.resume || p->options.overwrite))
        code = output_clean(&t->output, err);
    return code;
}

typedef int run_fn(const struct pack_run *run, struct sheaf_error *err);

/* Calls check() for the run of each target, until a call fails. */
static int each_run(struct pack *p, run_fn *check, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (uint32_t i = 0; i < p->target_count && code == SHEAF_OK; i++) {
        const struct pack_run run = run_of(p, &p->targets[i]);

        code = check(&run, err);
    }
    return code;
}

/* Checks the free space before the destination is made. A run that resumes or replaces, or that
 * appends, has a destination already. Such a run checks the free space when it knows which files
 * stay. */
static int pack_check_space(struct pack *p, struct sheaf_error *err)
{
    return pack_ask_of(p) == ASK_PACK ? each_run(p, run_check_space, err) : SHEAF_OK;
}

/* Packs the shards of all targets (the data sets into which the run packs), and publishes them. */
static int pack_to_dest(struct pack *p, struct sheaf_error *err)
{
    int code = pack_check_space(p, err);

    if (code != SHEAF_OK)
        return code;
    p->result.files_packed = 0;
    code = each_target(p, claim_target, err);
    if (p->is_finished)
        return code == SHEAF_OK ? finished_result(p, err) : code;
    if (code == SHEAF_OK)
        code = each_target(p, run_target, err);
    if (code == SHEAF_OK)
        code = watch_check(&p->watch, err);
    if (code == SHEAF_OK)
        code = pack_check_sum(p, err);
    if (code == SHEAF_OK)
        code = planner_options_json(&p->planner, err);
    if (code == SHEAF_OK)
        code = each_target(p, publish_target, err);
    if (code != SHEAF_OK)
        abandon(p);
    p->result.skipped = p->problems.count;
    p->result.converted = p->converted.count;
    return code;
}

/* Sets p->foreseen to the error that a real run would report about its destination. Does not change
 * the destination, because the run is a dry run. */
static void foresee(struct pack *p)
{
    int code = planner_refuse(&p->planner, p->dest, &p->foreseen);

    for (uint32_t i = 0; i < p->target_count && code == SHEAF_OK; i++)
        code = output_look(&p->targets[i].output, pack_ask_of(p), &p->foreseen);
    if (code == SHEAF_OK)
        code = pack_check_space(p, &p->foreseen);
    if (code == SHEAF_OK)
        p->foreseen = (struct sheaf_error){ .code = SHEAF_OK };
}

/* Ends a dry run: reports the plan, and returns an error that a real run would return, or SHEAF_OK.
 * If the memory limit is too small, `memory` is an error code, and *err is this error. Otherwise
 * `memory` is SHEAF_OK. p->foreseen, the error about the destination, is not returned by this
 * function. If another error is returned, this function reports p->foreseen. */
static int end_dry_run(struct pack *p, int memory, struct sheaf_error *err)
{
    struct sheaf_error shown;
    int code;

    foresee(p);
    code = each_target(p, show_target, &shown);
    if (code != SHEAF_OK) {
        *err = shown;
        return code;
    }
    pack_count_planned(p);
    for (size_t i = 0; i < SPLIT_LIMIT; i++)
        few_fields_tell(&p->fields[i], &p->problems);
    p->problems.on_error = p->options.on_error;
    if (memory != SHEAF_OK && p->problems.report != NULL && p->problems.count != 0)
        p->problems.report(p->problems.context, "", err);
    if (p->problems.on_error == SHEAF_FAIL && p->problems.count != 0)
        memory = problems_verdict(&p->problems, err);
    if (memory != SHEAF_OK && p->foreseen.code != SHEAF_OK && p->problems.report != NULL)
        p->problems.report(p->problems.context, p->dest, &p->foreseen);
    return memory;
}

static int pack_open_target(struct pack *p, struct pack_target *t, struct sheaf_error *err)
{
    const struct grow *g = t->grow;
    int code;

    take_split(p, t);
    code = pack_output_open(&t->output, t->dest, &p->setup,
                            g == NULL ? p->options.prefix : g->prefix, &t->plan, err);
    if (code == SHEAF_OK && g != NULL) {
        t->output.grows = &g->manifest;
        t->output.part = g->part;
        t->output.generation = g->manifest.edit_count;
        t->output.first_shard = g->facts.first_shard;
    }
    return code;
}

/* Sets the facts that a stored plan has in addition to the plan itself. */
static int pack_set_facts(struct pack *p, struct plan_facts *f, struct buf *skipped,
                          struct sheaf_error *err)
{
    const struct source *source = p->planner.sources;
    int code = problems_write(&p->problems, 0, skipped, err);

    if (code == SHEAF_OK)
        code = planner_options_json(&p->planner, err);
    for (uint32_t s = 0; s < p->plan.split_count; s++)
        f->options_json[s] = p->planner.options_json[s];
    f->dest = p->dest;
    f->source = source->ops->name;
    f->fingerprint = "";
    f->is_remote = source->is_remote;
    plan_facts_take(f, &p->options);
    f->plan = p->plan;
    f->skipped = (const char *)skipped->data;
    f->skipped_bytes = skipped->size;
    f->found = p->planner.files;
    f->cls_looked = p->planner.sort.cls_looked;
    f->cls_words = p->planner.sort.cls_words;
    return code;
}

/* Stores the plan that the run has made. Parts of it are packed later; see part.c. */
static int store_plan(struct pack *p, struct sheaf_error *err)
{
    const char *const source_root = p->planner.sources->root;
    char *root = plan_absolute(source_root);
    struct buf skipped = BUF_INIT(SIZE_MAX / 4);
    struct plan_facts facts = { .root = source_root[0] == '\0' ? "" : root };
    int code = root == NULL ? err_memory(err, strlen(source_root))
                            : pack_set_facts(p, &facts, &skipped, err);

    if (code == SHEAF_OK)
        code = each_target(p, pack_open_target, err);
    if (code == SHEAF_OK)       /* refuses a sample that no part could pack */
        code = each_run(p, run_check_memory, err);
    if (code == SHEAF_OK)
        code = plan_store(&facts, &p->planner, &p->options, NULL, p->url, err);
    if (code == SHEAF_OK)
        pack_count_planned(p);
    buf_free(&skipped);
    free(root);
    return code;
}

/* Packs the plan that the run has made. */
static int pack_planned(struct pack *p, struct sheaf_error *err)
{
    int code = each_target(p, pack_open_target, err);

    if (code != SHEAF_OK)
        return code;
    code = each_run(p, run_check_memory, err);
    if (p->options.dry_run)
        return end_dry_run(p, code, err);
    return code == SHEAF_OK ? pack_to_dest(p, err) : code;
}

static int pack_sources(struct pack *p, const char *const *sources, size_t count,
                        struct sheaf_error *err)
{
    int code = count == 0 ? err_set(err, SHEAF_ERR_ARGUMENT, "no sources")
                          : pack_make_plan(p, sources, count, err);

    if (code == SHEAF_OK && p->grows == NULL)
        class_list_tell_siblings(p->dest, &p->plan, p->options.label_base, &p->problems);
    else if (code == SHEAF_OK && p->target_count == 1)
        code = grow_tell_classes(p->grows, &p->plan, &p->options, err);
    if (code != SHEAF_OK)
        return code;
    return p->url != NULL ? store_plan(p, err) : pack_planned(p, err);
}

/* ---- The whole ------------------------------------------------------------------------------- */

int sheaf_pack(const char *source, const char *dest, const struct sheaf_pack_options *options,
               struct sheaf_pack_result *result, struct sheaf_error *error)
{
    return sheaf_pack_sources(&source, 1, dest, options, result, error);
}

static void close_pack(struct pack *p)
{
    for (uint32_t i = 0; i < p->target_count; i++)
        output_close(&p->targets[i].output);
    plan_free(&p->plan);
    free(p->growing.fingerprint);
    planner_close(&p->planner);
    problems_free(&p->problems);
    problems_free(&p->converted);
    for (size_t i = 0; i < SPLIT_LIMIT; i++)
        tally_clear(&p->fields[i]);
    class_list_free(&p->list);
}

static int pack_with(struct pack *p, int (*run)(struct pack *p, const char *const *sources,
                                                size_t count, struct sheaf_error *err),
                     const char *const *sources, size_t count, struct sheaf_error *err)
{
    int code = class_list_take(&p->list, &p->options, err);

    pack_options_setup(&p->options, &p->setup);
    pack_options_watch(&p->options, &p->watch, &p->problems);
    p->converted.on_error = SHEAF_SKIP;
    p->problems.converted = &p->converted;
    if (pack_is_dry(p))             /* one bad file does not hide the others */
        p->problems.on_error = SHEAF_SKIP;
    if (code == SHEAF_OK)
        code = run(p, sources, count, err);
    close_pack(p);
    return code;
}

int sheaf_pack_sources(const char *const *sources, size_t count, const char *dest,
                       const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
                       struct sheaf_error *error)
{
    struct pack p = { .dest = dest, .targets[0] = { .dest = dest, .output.lock = -1 },
                      .target_count = 1 };
    struct store_scopes scopes = { .count = 0 };
    struct sheaf_error found;
    int code = pack_options_take(options, &p.options, &found);

    if (code == SHEAF_OK)
        code = scopes_open(&scopes, dest, NULL, p.options.s3, &found);
    if (code == SHEAF_OK)
        code = pack_with(&p, pack_sources, sources, count, &found);
    scopes_close(&scopes);
    if (result != NULL)
        *result = p.result;
    if (error != NULL && (code != SHEAF_OK || p.options.dry_run))
        *error = code != SHEAF_OK ? found : p.foreseen;
    return code;
}

/* ---- Storing the plan ------------------------------------------------------------------------ */

int pack_store_plan(const char *const *sources, size_t count, const char *dest, const char *url,
                    const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
                    struct sheaf_error *err)
{
    struct pack p = { .options = *options, .dest = dest, .url = url,
                      .targets[0] = { .dest = dest, .output.lock = -1 }, .target_count = 1 };
    int code;

    if (p.options.check_images == SHEAF_CHECK_USUAL)
        p.options.check_images = SHEAF_CHECK_MARKERS;
    code = pack_with(&p, pack_sources, sources, count, err);
    *result = p.result;
    return code;
}

/* ---- Appending ------------------------------------------------------------------------------- */

/* Increases the counts in `result` by the samples, bytes and shards of the last append. */
static void count_appended(const struct manifest *m, struct sheaf_pack_result *result)
{
    for (size_t i = m->growths[m->growth_count - 1].shards; i < m->shard_count; i++) {
        result->samples += m->shards[i].samples;
        result->payload_bytes += m->shards[i].payload_bytes;
        result->stored_bytes += m->shards[i].bytes;
        result->shards++;
    }
    result->shards_kept = result->shards;
}

/* Returns the hash of the plan of the last append to the data set. The caller frees the hash.
 * Returns NULL if there was no append, or if the data set was edited since. */
static char *last_plan(const struct grow *g)
{
    char *hash = NULL;

    if (g->manifest.growth_count != 0 && !manifest_edit_is_last(&g->manifest))
        (void)manifest_change_plan(&g->manifest, &hash, NULL);
    return hash;
}

/* Undoes the last append of a data set, if this append used the plan with the hash p->last. Only
 * facts in memory change. Marks the data set as done, counts the samples of the append, and
 * restores the facts from before the append. */
static int undo_target(struct pack *p, struct pack_target *t, struct sheaf_error *err)
{
    char *last = last_plan(t->grow);
    int code;

    t->is_done = last != NULL && strcmp(last, p->last) == 0;
    free(last);
    if (!t->is_done)
        return SHEAF_OK;
    count_appended(&t->grow->manifest, &t->appended);
    code = grow_undo(t->grow, t->dest, p->options.split != NULL, err);
    return code == SHEAF_OK ? grow_number(t->grow, t->dest, err) : code;
}

static int open_grows(struct pack *p, const struct pack_onto *onto, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    p->growing = (struct plan_grow){ .known = onto->known, .context = onto->context };
    for (uint32_t i = 0; i < onto->count && code == SHEAF_OK; i++) {
        const char *manifest = onto->manifests[i];

        p->targets[i] = (struct pack_target){ .dest = onto->directories[i], .grow = &p->grows[i],
                                              .output.lock = -1 };
        p->target_count = i + 1;
        code = grow_open(&p->grows[i], onto->directories[i], manifest, strlen(manifest), 0, err);
        if (code != SHEAF_OK)
            err_prefix(err, "%s: ", onto->directories[i]);
    }
    return code;
}

static void close_grows(struct pack *p)
{
    for (uint32_t i = 0; i < p->target_count; i++)
        grow_close(&p->grows[i]);
}

/* Returns whether an earlier run has already appended the samples to all data sets and published
 * them. */
static bool is_all_done(const struct pack *p)
{
    for (uint32_t i = 0; i < p->target_count; i++)
        if (!p->targets[i].is_done && p->targets[i].first != p->targets[i].end)
            return false;
    return true;
}

/* Ends a run whose samples are all published already. */
static int end_done(struct pack *p, struct sheaf_error *err)
{
    struct sheaf_pack_result there = { .samples = 0 };
    int code = SHEAF_OK;

    for (uint32_t i = 0; i < p->target_count && code == SHEAF_OK; i++) {
        struct sheaf_pack_result listed = { .skipped = 0 };
        struct pack_target *t = &p->targets[i];

        if (!t->is_done)
            continue;
        pack_output_add(&there, &t->appended);
        if (!p->options.dry_run)
            code = output_grown(&t->output, err);
        if (code == SHEAF_OK)
            code = destination_count_reports(&t->output, t->grow->part, &listed, err);
        there.skipped += listed.skipped;
        there.converted += listed.converted;
    }
    there.files = p->result.files;
    there.files_packed = there.files - there.skipped;
    p->result = there;
    return code;
}

/* Makes the plan again as if the last append had not happened. p->last is the plan hash of that
 * append. Returns SHEAF_OK if the new plan has the same hash, and SHEAF_END if it has another hash.
 * An interrupt and a lack of memory are returned as errors. After any other failure to make the
 * plan, returns SHEAF_END, because the run will fail in the same way when it makes its own plan. */
static int compare_plan(struct pack *p, const char *const *sources, size_t count,
                        struct sheaf_error *err)
{
    int code = grow_join(p->grows, p->target_count, &p->growing, err);

    if (code == SHEAF_OK)
        code = pack_make_plan(p, sources, count, err);
    if (code == SHEAF_OK ? strcmp(p->last, p->plan.hash) != 0
                         : code != SHEAF_ERR_INTERRUPTED && code != SHEAF_ERR_MEMORY)
        code = SHEAF_END;
    if (code == SHEAF_OK)
        code = each_target(p, pack_open_target, err);
    p->is_all_done = code == SHEAF_OK && is_all_done(p);
    return code == SHEAF_OK && p->is_all_done ? end_done(p, err) : code;
}

/* Finds out whether an earlier run has appended exactly the samples that this run would append.
 * given->last is the plan hash of the earlier run. If the samples are the same and all of them are
 * published, sets given->is_all_done. If the samples are the same but the earlier run has published
 * only some splits, because it was interrupted, marks these splits as done. Returns SHEAF_END if
 * the samples are not the same. */
static int try_plan(struct pack *given, const struct pack_onto *onto, const char *const *sources,
                    size_t count, struct sheaf_error *err)
{
    struct grow grows[SPLIT_LIMIT] = { { .prefix = NULL } };
    struct pack p = { .options = given->options, .dest = given->dest, .grows = grows,
                      .last = given->last };
    int code = open_grows(&p, onto, err);

    p.options.report = NULL;
    p.options.note = NULL;
    for (uint32_t i = 0; i < p.target_count; i++)
        grows[i].facts.first_number = given->grows[i].facts.first_number;
    if (code == SHEAF_OK)
        code = each_target(&p, undo_target, err);
    if (code == SHEAF_OK)
        code = pack_with(&p, compare_plan, sources, count, err);
    given->is_all_done = code == SHEAF_OK && p.is_all_done;
    if (given->is_all_done)
        given->result = p.result;
    else if (code == SHEAF_OK)
        code = each_target(given, undo_target, err);
    close_grows(&p);
    return code;
}

/* Looks for an earlier run that has already appended the same samples. Tries the last append to
 * each of the data sets with try_plan(). */
static int find_appended(struct pack *p, const struct pack_onto *onto, const char *const *sources,
                         size_t count, struct sheaf_error *err)
{
    char *tried[SPLIT_LIMIT] = { NULL };
    int code = SHEAF_END;

    for (uint32_t i = 0; i < onto->count && code == SHEAF_END; i++) {
        bool is_new = true;

        p->last = tried[i] = last_plan(&p->grows[i]);
        for (uint32_t k = 0; k < i && tried[i] != NULL; k++)
            is_new = is_new && (tried[k] == NULL || strcmp(tried[k], tried[i]) != 0);
        if (tried[i] != NULL && is_new)
            code = try_plan(p, onto, sources, count, err);
    }
    for (uint32_t i = 0; i < onto->count; i++)
        free(tried[i]);
    return code == SHEAF_END ? SHEAF_OK : code;
}

static int pack_append(struct pack *p, const struct pack_onto *onto, const char *const *sources,
                       size_t count, struct sheaf_error *err)
{
    struct sheaf_pack_options options = p->options;
    int code = open_grows(p, onto, err);

    if (code == SHEAF_OK)
        code = grow_options(&p->grows[0], &options, err);
    if (code == SHEAF_OK)
        code = pack_options_take(&options, &p->options, err);
    for (uint32_t i = 0; i < p->target_count && code == SHEAF_OK; i++)
        code = grow_number(&p->grows[i], p->targets[i].dest, err);
    if (code == SHEAF_OK && p->options.resume)
        code = find_appended(p, onto, sources, count, err);
    if (code != SHEAF_OK || p->is_all_done)
        return code;
    code = grow_tell(&p->grows[0], &p->options, err);
    if (code == SHEAF_OK)
        code = grow_join(p->grows, p->target_count, &p->growing, err);
    return code == SHEAF_OK ? pack_with(p, pack_sources, sources, count, err) : code;
}

int pack_onto(const char *const *sources, size_t count, const struct pack_onto *onto,
              const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
              struct sheaf_error *error)
{
    struct grow grows[SPLIT_LIMIT] = { { .prefix = NULL } };
    struct pack p = { .options = *options, .dest = onto->dest, .grows = grows };
    struct store_scopes scopes = { .count = 0 };
    struct sheaf_error found;
    int code = scopes_open(&scopes, onto->dest, NULL, options->s3, &found);

    if (code == SHEAF_OK)
        code = pack_append(&p, onto, sources, count, &found);
    scopes_close(&scopes);
    close_grows(&p);
    *result = p.result;
    if (code != SHEAF_OK || p.options.dry_run)
        *error = code != SHEAF_OK ? found : p.foreseen;
    return code;
}

int pack_splits(const char *text, char **split, char **own, struct split_spec *spec,
                struct sheaf_error *err)
{
    struct manifest manifest;
    int code = manifest_parse(text, strlen(text), &manifest, err);

    *split = *own = NULL;
    *spec = (struct split_spec){ .count = 0 };
    if (code != SHEAF_OK)
        return code;
    code = manifest_option(&manifest, "split", split, err);
    if (code == SHEAF_OK)
        code = manifest_option(&manifest, "split_name", own, err);
    if (code == SHEAF_OK && *split != NULL && *own != NULL)
        code = split_parse(*split, spec, err);
    manifest_clear(&manifest);
    return code;
}
