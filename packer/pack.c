/* SPDX-License-Identifier: MIT
 *
 * sheaf_pack: does in one call what many machines do with a stored plan. It makes the plan, packs
 * all its shards and publishes them. Appending to a data set differs only in the claim and in the
 * way of publishing (see grow.h). */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/manifest_edit.h"
#include "publish/destination.h"
#include "packer/few_fields.h"
#include "packer/pack.h"
#include "packer/pack_options.h"
#include "packer/planner.h"
#include "packer/run.h"
#include "store/scopes.h"
#include "store/store.h"

struct pack {
    struct sheaf_pack_options options;
    const char *dest;
    struct grow *grow;          /* the data set that grows; NULL: a new one */
    struct class_list list;     /* until the planner takes it */
    struct planner planner;
    struct problems problems, converted;
    struct watch watch;
    struct plan plan;
    struct plan_stash stash;    /* its samples */
    struct block_setup setup;
    struct output output;
    struct sheaf_pack_result result;
    /* in a dry run: the error that a real run would return; the code of this error is SHEAF_OK if
     * the real run would succeed */
    struct sheaf_error foreseen;
    struct tally fields[SPLIT_LIMIT];   /* in a dry run: fields of each split's samples */
};

/* ---- Plan ------------------------------------------------------------------------------------ */

static int make_plan(struct pack *p, const char *const *sources, size_t count,
                     struct sheaf_error *err)
{
    struct planner *planner = &p->planner;
    int code = planner_open(planner, &p->options, &p->list, &p->problems, &p->watch, &p->plan,
                            p->dest, err);

    if (p->grow != NULL)
        planner->sort.grow = &p->grow->plan;
    else if (p->options.dry_run)
        planner->fields = p->fields;
    if (code == SHEAF_OK)
        code = planner_make(planner, sources, count, p->options.dry_run ? NULL : p->dest, err);
    if (code == SHEAF_OK)
        code = planner_stash(planner, &p->stash, err);
    /* The identity of the plan (a hash) does not cover the states of the source files. The journal
     * has a hash of them for each shard. So if a file has changed, only the shard with this file is
     * packed again. */
    if (code == SHEAF_OK)
        code = planner_identify(planner, false, err);
    planner_result(planner, &p->result);
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
        int code = output_shard_name(&p->output, shard->split, shard->number, name, err);

        if (code != SHEAF_OK)
            return code;
        if (p->options.plan != NULL)
            p->options.plan(p->options.context, &shown);
    }
    planner_count_classes(&p->planner);
    p->result.samples = p->plan.sample_count;
    p->result.payload_bytes = p->plan.payload_bytes;
    p->result.shards = p->plan.shard_count;
    return SHEAF_OK;
}

/* ---- Publish --------------------------------------------------------------------------------- */

/* Returns whether all samples of the source are already in the data set to which they are
 * appended. */
static bool has_nothing_new(const struct pack *p)
{
    return p->result.samples == 0 && problems_have_known(&p->problems);
}

/* Returns an error if a file is neither packed nor skipped, or if there is no sample. Nothing is
 * published in that case. */
static int pack_check_sum(const struct pack *p, struct sheaf_error *err)
{
    const int code = problems_conserve(&p->problems, p->result.files, p->result.files_packed, err);

    if (code != SHEAF_OK || has_nothing_new(p))
        return code;
    return problems_check_packed(&p->problems, p->result.samples, err);
}

static int pack_publish(struct pack *p, struct sheaf_error *err)
{
    char *json[SPLIT_LIMIT] = { NULL };
    int code = planner_options_json(&p->planner, json, err);

    if (code == SHEAF_OK)
        code = pack_output_publish_plan(&p->output, &p->problems, &p->plan, p->options.label_base,
                                        (const char *const *)json, err);
    for (uint32_t s = 0; s < SPLIT_LIMIT; s++)
        free(json[s]);
    return code == SHEAF_OK ? output_end(&p->output, err) : code;
}

/* Sets the result of a run whose data set exists already. Takes names and sizes from the plan. */
static int finished_result(struct pack *p, struct sheaf_error *err)
{
    const int code = destination_result(&p->output, &p->result, err);

    p->result.files_packed = p->result.files - p->result.skipped;
    return code;
}

static enum output_ask ask_of(const struct pack *p)
{
    return output_ask(p->options.resume, p->options.overwrite, p->grow != NULL);
}

static void abandon(struct pack *p)
{
    const bool keep = p->options.resume || p->result.samples > 0;

    if (p->grow != NULL)
        output_abandon_grow(&p->output, keep);
    else
        output_abandon(&p->output, keep);
}

/* Removes the claim (the file that reserves the directory for this run) of an append that made no
 * samples. The data set does not change. */
static void drop_empty(struct pack *p)
{
    output_abandon_grow(&p->output, false);
    p->result.shards = p->result.shards_kept = p->result.stored_bytes = 0;
}

static int pack_to_dest(struct pack *p, const struct pack_run *run, struct sheaf_error *err)
{
    bool finished;
    int code = p->grow != NULL ? SHEAF_OK : store_make_directory(p->dest, err);

    if (code == SHEAF_OK)       /* DEST exists now, so its real path is known */
        code = planner_refuse(&p->planner, p->dest, err);
    if (code == SHEAF_OK)
        code = output_claim(&p->output, ask_of(p), &finished, err);
    if (code == SHEAF_OK && finished)
        return finished_result(p, err);
    if (code != SHEAF_OK)
        return code;
    if (p->options.resume || p->options.overwrite)
        code = output_clean(&p->output, err);
    if (code == SHEAF_OK)
        code = run_plan(run, &p->result, err);
    if (code == SHEAF_OK)
        code = watch_check(&p->watch, err);
    if (code == SHEAF_OK)
        code = pack_check_sum(p, err);
    if (code == SHEAF_OK && has_nothing_new(p))
        drop_empty(p);
    else if (code == SHEAF_OK)
        code = pack_publish(p, err);
    if (code != SHEAF_OK)
        abandon(p);
    p->result.skipped = p->problems.count;
    p->result.converted = p->converted.count;
    return code;
}

/* Ends an append for which the data set already has all samples. Remains of an interrupted run are
 * refused or removed as usual. */
static int grow_by_nothing(struct pack *p, struct sheaf_error *err)
{
    bool finished;
    const int code = output_claim(&p->output, ask_of(p), &finished, err);

    if (code == SHEAF_OK)
        output_abandon_grow(&p->output, false);
    return code;
}

/* Describes the packing of all shards of the plan, for run_plan. */
static struct pack_run run_of(struct pack *p)
{
    planner_setup(&p->planner, &p->setup);
    return (struct pack_run){
        .options = &p->options, .setup = &p->setup, .output = &p->output,
        .problems = &p->problems, .watch = &p->watch, .rows = plan_stash_rows(&p->stash),
        .end = p->plan.shard_count, .resumes = p->options.resume,
    };
}

/* Finds the error that a real run would report about its destination. A dry run does not change the
 * destination. */
static void foresee(struct pack *p)
{
    int code = planner_refuse(&p->planner, p->dest, &p->foreseen);

    if (code == SHEAF_OK && (p->grow != NULL || ask_of(p) == ASK_PACK))
        code = output_look(&p->output, ask_of(p), &p->foreseen);
    if (code == SHEAF_OK)
        p->foreseen = (struct sheaf_error){ .code = SHEAF_OK };
}

/* Reports the plan of a dry run. The plan does not contain bad files. If both the plan and the
 * destination have an error, the error of the destination is reported. `memory` is SHEAF_OK, or an
 * error code if the memory is too small; *err then has the message. */
static int end_dry_run(struct pack *p, int memory, struct sheaf_error *err)
{
    struct sheaf_error shown;
    int code;

    foresee(p);
    code = show_plan(p, &shown);
    if (code != SHEAF_OK) {
        *err = shown;
        return code;
    }
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

static int open_output(struct pack *p, struct sheaf_error *err)
{
    const int code = pack_output_open(&p->output, p->dest, &p->setup, p->options.prefix, &p->plan,
                                      err);

    if (code == SHEAF_OK && p->grow != NULL) {
        p->output.grows = &p->grow->manifest;
        p->output.part = p->grow->part;
        p->output.generation = p->grow->manifest.edit_count;
        p->output.first_shard = p->grow->plan.first_shard;
    }
    return code;
}

static int pack_sources(struct pack *p, const char *const *sources, size_t count,
                        struct sheaf_error *err)
{
    struct pack_run all;
    int code = count == 0 ? err_set(err, SHEAF_ERR_ARGUMENT, "no sources")
                          : make_plan(p, sources, count, err);

    if (code == SHEAF_OK && p->grow != NULL)
        code = grow_tell_classes(p->grow, &p->plan, &p->options, err);
    else if (code == SHEAF_OK)
        class_list_tell_siblings(p->dest, &p->plan, p->options.label_base, &p->problems);
    if (code == SHEAF_OK)
        code = open_output(p, err);
    if (code != SHEAF_OK)
        return code;
    all = run_of(p);
    code = run_check_memory(&all, err);
    if (p->options.dry_run)
        return end_dry_run(p, code, err);
    if (code == SHEAF_OK && p->plan.sample_count == 0)
        return grow_by_nothing(p, err);
    return code == SHEAF_OK ? pack_to_dest(p, &all, err) : code;
}

int sheaf_pack(const char *source, const char *dest, const struct sheaf_pack_options *options,
               struct sheaf_pack_result *result, struct sheaf_error *error)
{
    return sheaf_pack_sources(&source, 1, dest, options, result, error);
}

static void close_pack(struct pack *p)
{
    output_close(&p->output);
    plan_stash_close(&p->stash);
    plan_free(&p->plan);
    planner_close(&p->planner);
    problems_free(&p->problems);
    problems_free(&p->converted);
    for (size_t i = 0; i < SPLIT_LIMIT; i++)
        tally_clear(&p->fields[i]);
}

static int pack_with(struct pack *p, int (*run)(struct pack *p, const char *const *sources,
                                                size_t count, struct sheaf_error *err),
                     const char *const *sources, size_t count, struct sheaf_error *err)
{
    int code;

    pack_options_setup(&p->options, &p->setup);
    pack_options_watch(&p->options, &p->watch, &p->problems);
    p->problems.converted = &p->converted;
    if (p->options.dry_run)         /* one bad file does not hide the others */
        p->problems.on_error = SHEAF_SKIP;
    code = run(p, sources, count, err);
    close_pack(p);
    return code;
}

int sheaf_pack_sources(const char *const *sources, size_t count, const char *dest,
                       const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
                       struct sheaf_error *error)
{
    struct pack p = { .dest = dest, .stash.blocks.fd = -1, .output.lock = -1,
                      .converted.on_error = SHEAF_SKIP };
    struct store_scopes scopes = { .count = 0 };
    struct sheaf_error found;
    int code = pack_options_take(options, &p.options, &found);

    if (code == SHEAF_OK)
        code = scopes_open(&scopes, dest, NULL, p.options.s3, &found);
    if (code == SHEAF_OK)
        code = class_list_take(&p.list, &p.options, &found);
    if (code == SHEAF_OK)
        code = pack_with(&p, pack_sources, sources, count, &found);
    class_list_free(&p.list);
    scopes_close(&scopes);
    if (result != NULL)
        *result = p.result;
    if (error != NULL && (code != SHEAF_OK || p.options.dry_run))
        *error = code != SHEAF_OK ? found : p.foreseen;
    return code;
}

/* ---- Appending ------------------------------------------------------------------------------- */

/* Counts the samples and shards that the last append added to the data set. */
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

/* Makes the plan again as if the last append had not happened. Returns SHEAF_END if the new plan
 * differs from the plan that was appended. Also returns SHEAF_END if an error occurs here, because
 * the run will find this error again and report it. */
static int compare_plan(struct pack *p, const char *const *sources, size_t count,
                        struct sheaf_error *err)
{
    struct sheaf_pack_result there = { .samples = 0 };
    char *hash = NULL;
    int code = manifest_change_plan(&p->grow->manifest, &hash, err);

    count_appended(&p->grow->manifest, &there);
    grow_undo(p->grow);
    if (code == SHEAF_OK)
        code = grow_number(p->grow, p->dest, err);
    if (code == SHEAF_OK)
        code = make_plan(p, sources, count, err);
    if (code == SHEAF_OK ? hash == NULL || strcmp(hash, p->plan.hash) != 0
                         : code != SHEAF_ERR_INTERRUPTED && code != SHEAF_ERR_MEMORY)
        code = SHEAF_END;
    if (code == SHEAF_OK)
        code = open_output(p, err);
    if (code == SHEAF_OK)
        code = output_grown(&p->output, err);
    if (code == SHEAF_OK)
        code = destination_count_reports(&p->output, p->grow->part, &there, err);
    free(hash);
    there.files = p->result.files;
    there.files_packed = there.files - there.skipped;
    p->result = there;
    return code;
}

/* Sets *found to whether the last append used the same plan, so that an earlier run has already
 * published these samples. */
static int find_appended(const struct pack *given, const char *manifest,
                         const char *const *sources, size_t count, bool *found,
                         struct sheaf_pack_result *result, struct sheaf_error *err)
{
    struct pack p = { .options = given->options, .dest = given->dest, .stash.blocks.fd = -1,
                      .output.lock = -1 };
    struct grow grow = { .plan = given->grow->plan };
    int code = grow_open(&grow, manifest, strlen(manifest), err);

    *found = false;
    if (code == SHEAF_OK && grow.manifest.growth_count != 0 &&
        !manifest_edit_is_last(&grow.manifest)) {
        p.grow = &grow;
        p.options.report = NULL;
        p.options.note = NULL;
        code = pack_with(&p, compare_plan, sources, count, err);
        *found = code == SHEAF_OK;
        if (*found)
            *result = p.result;
    }
    grow_close(&grow);
    return code == SHEAF_END ? SHEAF_OK : code;
}

static int append(struct pack *p, const char *manifest, const char *const *sources, size_t count,
                  struct sheaf_error *err)
{
    struct sheaf_pack_options options;
    bool found = false;
    int code = grow_open(p->grow, manifest, strlen(manifest), err);

    if (code != SHEAF_OK)
        return err_prefix(err, "%s: ", p->dest);
    options = p->options;
    code = grow_options(p->grow, &options, err);
    if (code == SHEAF_OK)
        code = pack_options_take(&options, &p->options, err);
    if (code == SHEAF_OK)
        code = grow_number(p->grow, p->dest, err);
    if (code == SHEAF_OK && p->options.resume)
        code = find_appended(p, manifest, sources, count, &found, &p->result, err);
    if (code == SHEAF_OK && !found)
        code = grow_tell(p->grow, &p->options, err);
    return code != SHEAF_OK || found ? code : pack_with(p, pack_sources, sources, count, err);
}

int pack_onto(const char *const *sources, size_t count, const char *dest, const char *manifest,
              plan_known_fn *known, void *context, const struct sheaf_pack_options *options,
              struct sheaf_pack_result *result, struct sheaf_error *error)
{
    struct grow grow = { .plan = { .known = known, .context = context } };
    struct pack p = { .options = *options, .dest = dest, .grow = &grow, .stash.blocks.fd = -1,
                      .output.lock = -1 };
    struct store_scopes scopes = { .count = 0 };
    struct sheaf_error found;
    int code = scopes_open(&scopes, dest, NULL, options->s3, &found);

    if (code == SHEAF_OK)
        code = append(&p, manifest, sources, count, &found);
    scopes_close(&scopes);
    grow_close(&grow);
    *result = p.result;
    if (code != SHEAF_OK || p.options.dry_run)
        *error = code != SHEAF_OK ? found : p.foreseen;
    return code;
}

int pack_other_splits(const char *text, char names[SPLIT_LIMIT][SPLIT_NAME_BYTES], size_t *count,
                      struct sheaf_error *err)
{
    struct manifest manifest;
    struct split_spec spec = { .count = 0 };
    char *split = NULL, *own = NULL;
    int code = manifest_parse(text, strlen(text), &manifest, err);

    *count = 0;
    if (code != SHEAF_OK)
        return code;
    code = manifest_option(&manifest, "split", &split, err);
    if (code == SHEAF_OK)
        code = manifest_option(&manifest, "split_name", &own, err);
    if (code == SHEAF_OK && split != NULL && own != NULL)
        code = split_parse(split, &spec, err);
    for (uint32_t i = 0; i < spec.count && code == SHEAF_OK; i++)
        if (strcmp(spec.splits[i].name, own) != 0)
            memcpy(names[(*count)++], spec.splits[i].name, SPLIT_NAME_BYTES);
    manifest_clear(&manifest);
    free(split);
    free(own);
    return code;
}
