/* SPDX-License-Identifier: MIT
 *
 * sheaf_column_plan: stores a plan with which several machines can write a column of a data set
 * (its base), one part each.
 *
 * A shard of the column has the records for one or more whole shards of the base. The sizes of the
 * values are not known when the plan is made. So the plan ends a shard by its number of samples and
 * not by its bytes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/watch.h"
#include "columns/column_rows.h"
#include "columns/column_write.h"
#include "formats/origin.h"
#include "packer/plan_store.h"

/* Smallest number of samples in a planned shard of the column. When the shard has this number of
 * samples, it ends at the end of the present shard of the base data set.
 *
 * This number is a compromise. Shards of small values still have about a megabyte, shards of large
 * values do not become huge, and there are enough shards for many machines. */
#define PLANNED_SHARD_SAMPLES ((uint64_t)8192)

struct planning {
    struct sheaf_column_options options;
    struct watch watch;
    struct sheaf_dataset *base;
    struct column_facts column;
    struct column_values values;
    struct sheaf_pack_options packing;
    struct plan_facts facts;
    char *root, *dest, *identity, *json;
};

/* Stores the absolute URL of the source in the plan, because the machines that write the parts may
 * use other working directories. */
static int column_plan_take_values(struct planning *p, const char *source, struct sheaf_error *err)
{
    if (source == NULL)
        return SHEAF_OK;
    p->values.source = plan_absolute(source);
    if (p->values.source == NULL)
        return err_memory(err, strlen(source));
    return column_rows_hash(p->values.source, &p->watch, p->values.hash, err);
}

static int column_plan_make_shards(struct planning *p, struct sheaf_error *err)
{
    const struct sheaf_dataset *d = p->base;
    struct plan *plan = &p->facts.plan;
    uint64_t samples = 0;

    plan->shards = calloc(d->manifest.shard_count + 1, sizeof(plan->shards[0]));
    plan->classes = calloc(1, sizeof(plan->classes[0]));
    plan->labels = calloc(1, sizeof(plan->labels[0]));
    if (plan->shards == NULL || plan->classes == NULL || plan->labels == NULL)
        return err_memory(err, d->manifest.shard_count * sizeof(plan->shards[0]));
    plan->label_count = 1;
    for (size_t i = 0; i < d->manifest.shard_count; i++) {
        const bool is_last = i + 1 == d->manifest.shard_count;

        samples += d->first_numbers[i] < p->column.first ? 0 : d->samples[i];
        if (samples == 0 || (samples < PLANNED_SHARD_SAMPLES && !is_last))
            continue;
        plan->shards[plan->shard_count] = (struct plan_shard){
            .number = (uint32_t)plan->shard_count, .sample = plan->sample_count,
            .first = plan->sample_count, .sample_count = samples, .payload_bytes = samples,
        };
        plan->shard_count++;
        plan->sample_count += samples;
        samples = 0;
    }
    plan->payload_bytes = plan->sample_count;
    plan->splits[0].shard_count = (uint32_t)plan->shard_count;
    plan->split_count = 1;
    return SHEAF_OK;
}

/* Computes the hash of the plan from the base data set, the values, and the version of the program
 * that makes the values. */
static int column_plan_identify(struct planning *p, struct sheaf_error *err)
{
    const char *version = p->options.version == NULL ? "" : p->options.version;
    struct plan *plan = &p->facts.plan;
    char *origin = NULL;

    if (asprintf(&p->identity, "planned column %s %s %" PRIu64 " %s %s", p->column.name,
                 p->column.base, p->column.first, version, p->values.hash) < 0) {
        p->identity = NULL;
        return err_memory(err, strlen(version));
    }
    column_packing(&p->options, p->identity, &p->packing);
    origin = pack_options_origin(&p->packing, p->identity);
    if (origin == NULL)
        return err_memory(err, strlen(p->identity));
    origin_hash(&p->packing, origin, plan->hash);
    free(origin);
    plan_identify(plan, "", false);     /* The hash identifies the base, wherever it is. */
    return SHEAF_OK;
}

static int column_plan_set_facts(struct planning *p, struct sheaf_error *err)
{
    struct plan_facts *f = &p->facts;
    char *options;
    int code = column_plan_identify(p, err);

    if (code != SHEAF_OK)
        return code;
    options = pack_options_json(&p->packing, "program", f->plan.hash, "");
    p->json = options == NULL ? NULL : column_plan_options(options, &p->column, &p->values);
    free(options);
    if (p->json == NULL)
        return err_memory(err, 1024);
    f->dest = p->dest;
    f->root = p->root;
    f->source = COLUMN_PLAN_SOURCE;
    f->fingerprint = "";
    plan_facts_take(f, &p->packing);
    f->options_json[0] = p->json;
    f->skipped = "";
    return SHEAF_OK;
}

static int store_it(struct planning *p, const char *source, const char *url,
                    struct sheaf_column_result *result, struct sheaf_error *err)
{
    int code = column_plan_take_values(p, source, err);

    if (code == SHEAF_OK)
        code = column_plan_make_shards(p, err);
    if (code == SHEAF_OK)
        code = column_plan_set_facts(p, err);
    if (code == SHEAF_OK)
        code = plan_store(&p->facts, NULL, &p->packing, NULL, url, err);
    result->samples = p->facts.plan.sample_count;
    result->shards = p->facts.plan.shard_count;
    return code;
}

static int column_plan_make(struct planning *p, const char *dataset, const char *name,
                            const char *source, const char *url, struct sheaf_column_result *result,
                            struct sheaf_error *err)
{
    size_t layer = 0;
    int code = column_check_name(name, err);

    p->root = code == SHEAF_OK ? plan_absolute(dataset) : NULL;
    if (code == SHEAF_OK && p->root == NULL)
        code = err_memory(err, strlen(dataset));
    if (code == SHEAF_OK)
        code = column_base_open(p->root, &p->base, err);
    if (code == SHEAF_OK)
        code = column_write_begins(p->base, name, &p->options, &p->column.first, &layer, err);
    if (code != SHEAF_OK || layer == 0)
        return code;
    memcpy(p->column.name, name, strlen(name) + 1);
    memcpy(p->column.base, p->base->manifest.fingerprint, sizeof(p->column.base));
    code = column_directory(p->base, name, layer, &p->dest, err);
    return code == SHEAF_OK ? store_it(p, source, url, result, err) : code;
}

int sheaf_column_plan(const char *dataset, const char *name, const char *source, const char *plan,
                      const struct sheaf_column_options *options,
                      struct sheaf_column_result *result, struct sheaf_error *error)
{
    struct planning p = { .base = NULL };
    struct sheaf_column_result own_result;
    struct sheaf_error own_error;
    int code;

    result = result != NULL ? result : &own_result;
    error = error != NULL ? error : &own_error;
    *result = (struct sheaf_column_result){ .samples = 0 };
    code = column_options_take(options, &p.options, error);
    p.watch = (struct watch){ .progress = p.options.progress, .context = p.options.context,
                              .interrupt = p.options.interrupt };
    if (code == SHEAF_OK)
        code = column_plan_make(&p, dataset, name, source, plan, result, error);
    plan_facts_free(&p.facts);
    sheaf_dataset_free(p.base);
    column_values_free(&p.values);
    free(p.root);
    free(p.dest);
    free(p.identity);
    free(p.json);
    return code;
}
