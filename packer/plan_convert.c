/* SPDX-License-Identifier: MIT
 *
 * Makes the plan for converting a data set from its manifest. Each shard of the data set becomes
 * one shard of the plan. The plan stores no samples, because the samples of a planned shard are the
 * samples of the data set's shard. */
#include "packer/plan_convert.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/origin.h"
#include "packer/pack_output.h"
#include "packer/pack_options.h"
#include "packer/plan/plan_file.h"
#include "publish/destination.h"

struct conversion {
    struct sheaf_pack_options options;  /* as `sheaf convert` sets them */
    struct manifest manifest;           /* of the source */
    struct plan_facts facts;
    char *root, *json;
};

static int plan_convert_check_options(const struct sheaf_pack_options *o, const char *source,
                                      struct sheaf_error *err)
{
    struct sheaf_pack_options usual;

    sheaf_pack_options_init(&usual, sizeof(usual));
    if (o->split == NULL && o->root == NULL && o->shard_count == 0 && !o->no_shuffle &&
        o->seed == 0 && o->on_error == SHEAF_FAIL && o->shard_bytes == usual.shard_bytes &&
        !o->reshard && !o->reshuffle && o->field_map == NULL &&
        o->duplicate_keys == SHEAF_DUPLICATE_FAIL)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_ARGUMENT, "%s: is a data set, whose shards, order, fields and "
                   "keys are kept: a plan cannot split, shuffle or reshard it", source);
}

/* Makes one planned shard for each shard of the data set. Shards without samples are left out, as
 * in a conversion in a single call. */
static int plan_convert_make_shards(struct conversion *c, struct sheaf_error *err)
{
    struct plan *plan = &c->facts.plan;
    const struct manifest *m = &c->manifest;

    plan->shards = calloc(m->shard_count + 1, sizeof(plan->shards[0]));
    if (plan->shards == NULL)
        return err_memory(err, m->shard_count * sizeof(plan->shards[0]));
    for (size_t i = 0; i < m->shard_count; i++) {
        if (m->shards[i].samples == 0)
            continue;
        plan->shards[plan->shard_count] = (struct plan_shard){
            .number = (uint32_t)plan->shard_count, .sample = plan->sample_count,
            .first = plan->sample_count, .sample_count = m->shards[i].samples,
            .payload_bytes = m->shards[i].payload_bytes,
        };
        plan->shard_count++;
        plan->sample_count += m->shards[i].samples;
        plan->payload_bytes += m->shards[i].payload_bytes;
    }
    plan->splits[0].shard_count = (uint32_t)plan->shard_count;
    plan->split_count = 1;
    return plan->shard_count != 0 ? SHEAF_OK
                                  : err_set(err, SHEAF_ERR_NOT_FOUND, "the data set is empty");
}

/* Copies the names of the classes into the plan. Labels are not needed, because the samples
 * themselves contain them. */
static int make_labels(struct conversion *c, struct sheaf_error *err)
{
    struct plan *plan = &c->facts.plan;
    const struct manifest *m = &c->manifest;

    plan->class_count = (uint32_t)m->class_count;
    plan->label_count = plan->class_count + 1;
    plan->classes = calloc(plan->label_count, sizeof(plan->classes[0]));
    plan->labels = calloc(plan->label_count, sizeof(plan->labels[0]));
    if (plan->classes == NULL || plan->labels == NULL)
        return err_memory(err, plan->label_count * sizeof(plan->labels[0]));
    for (uint32_t i = 0; i < plan->class_count; i++)
        plan->classes[i] = m->classes[i];
    return SHEAF_OK;
}

static int plan_convert_set_facts(struct conversion *c, const char *source, const char *dest,
                                  struct sheaf_error *err)
{
    const struct manifest *const source_manifest = &c->manifest;
    struct plan_facts *f = &c->facts;
    int code;
    char *origin = pack_options_origin(&c->options, c->manifest.fingerprint);

    /* As in a conversion in one call. */
    if (origin == NULL)
        return err_memory(err, sizeof(c->manifest.fingerprint));
    origin_hash(&c->options, origin, f->plan.hash);
    free(origin);
    c->root = plan_absolute(source);
    c->json = pack_options_json(&c->options, "program", f->plan.hash, NULL);
    if (c->root == NULL || c->json == NULL)
        return err_memory(err, strlen(source));
    code = manifest_inherit(&source_manifest, 1, true, &c->json, err);
    if (code != SHEAF_OK)
        return code;
    plan_identify(&f->plan, c->root, false);
    f->dest = dest;
    f->root = c->root;
    f->source = "program";
    f->fingerprint = c->manifest.fingerprint;
    plan_facts_take(f, &c->options);
    f->options_json[0] = c->json;
    f->skipped = "";
    return SHEAF_OK;
}

/* Writes the plan and prepares the destination, in the same order of steps as sheaf_plan_make().
 * The plan is stored before anything at the destination is removed. */
static int plan_convert_write_plan(const struct plan_facts *facts, enum output_ask ask,
                                   const char *url, struct output *output, struct sheaf_error *err)
{
    struct plan_writer *w = NULL;
    bool finished;
    int code = plan_writer_open(url, &w, err);

    for (size_t i = 0; i < facts->plan.shard_count && code == SHEAF_OK; i++)
        code = plan_sections_end_shard(plan_writer_sections(w), err);
    if (code == SHEAF_OK)
        code = output_check(output, ask, err);
    if (code == SHEAF_OK)
        code = plan_writer_commit(w, facts, err);
    else
        plan_writer_abort(w);
    if (code == SHEAF_OK)
        code = output_claim(output, ask, &finished, err);
    return code;
}

int plan_store(const struct plan_facts *facts, const struct sheaf_pack_options *options,
               const char *source, const char *url, struct sheaf_error *err)
{
    const enum output_ask ask = output_ask(options->resume, options->overwrite, false);
    struct block_setup setup;
    struct output output;
    int code;

    pack_options_setup(options, &setup);
    code = pack_output_open(&output, facts->dest, &setup, options->prefix, &facts->plan, err);
    output.sources = &source;
    output.source_count = source != NULL;
    output.joins = true;
    if (code == SHEAF_OK)
        code = plan_convert_write_plan(facts, ask, url, &output, err);
    output_close(&output);
    return code;
}

static int plan_convert_make_plan(struct conversion *c, const char *source, const char *dest,
                                  const char *plan, struct sheaf_error *err)
{
    int code = plan_convert_check_options(&c->options, source, err);

    if (c->options.check_images == SHEAF_CHECK_USUAL)
        c->options.check_images = SHEAF_CHECK_NONE;
    c->options.label_base = c->manifest.label_base;
    c->options.shard_bytes = INT64_MAX;
    if (code == SHEAF_OK)
        code = plan_convert_make_shards(c, err);
    if (code == SHEAF_OK)
        code = make_labels(c, err);
    if (code == SHEAF_OK)
        code = plan_convert_set_facts(c, source, dest, err);
    return code == SHEAF_OK ? plan_store(&c->facts, &c->options, c->root, plan, err) : code;
}

int plan_convert(const char *source, const char *dest, const char *plan,
                 const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
                 struct sheaf_error *err)
{
    struct conversion c = { .options = *options };
    struct sheaf_error found;
    int code = destination_read_manifest(source, &c.manifest, &found);

    if (code == SHEAF_ERR_CORRUPT)
        return err_set(err, code, "%s", found.message);
    if (code != SHEAF_OK)
        /* Any other error means that the source is not a data set. */
        return SHEAF_END;
    code = plan_convert_make_plan(&c, source, dest, plan, err);
    result->samples = c.facts.plan.sample_count;
    result->payload_bytes = c.facts.plan.payload_bytes;
    result->shards = c.facts.plan.shard_count;
    plan_facts_free(&c.facts);
    manifest_clear(&c.manifest);
    free(c.root);
    free(c.json);
    return code;
}
