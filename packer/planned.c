/* SPDX-License-Identifier: MIT
 *
 * Opens a stored plan, calls a function with it, and divides it into parts. */
#include "packer/planned.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "packer/pack_options.h"
#include "store/scopes.h"

int planned_open(const char *url, struct planned *p, struct sheaf_error *err)
{
    const struct plan_facts *facts = &p->file.facts;
    int code;

    p->output.lock = -1;
    code = plan_file_open(url, &p->file, err);
    if (code != SHEAF_OK)
        return code;
    plan_facts_give(facts, &p->options);
    pack_options_setup(&p->options, &p->setup);
    p->setup.context.classes = facts->plan.classes;
    p->setup.context.class_count = facts->plan.class_count;
    code = pack_output_open(&p->output, facts->dest, &p->setup, p->options.prefix, &facts->plan,
                            err);
    p->output.compares_origin = facts->plan.origin[0] != '\0';
    if (code != SHEAF_OK)
        planned_close(p);
    return code;
}

int planned_check_libraries(const struct plan_file *file, struct sheaf_error *err)
{
    const char *theirs = file->facts.libraries;

    if (theirs[0] == '\0' || strcmp(theirs, image_libraries()) == 0)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is a plan that converts images by %s; here are "
                   "%s, which may give other bytes", file->object->url, theirs, image_libraries());
}

void planned_close(struct planned *p)
{
    output_close(&p->output);
    plan_file_close(&p->file);
}

static int run_opened(struct planned *p, planned_run_fn *run, void *context,
                      struct sheaf_error *err)
{
    struct store_scopes scopes = { .count = 0 };
    int code;

    pack_options_watch(&p->options, &p->watch, &p->problems);
    problems_limit(&p->problems, p->file.facts.found);
    p->converted.on_error = SHEAF_SKIP;
    p->problems.converted = &p->converted;
    p->setup.interrupt = p->output.interrupt = p->options.interrupt;
    code = scopes_open(&scopes, p->output.dest, NULL, p->options.s3, err);
    if (code == SHEAF_OK)
        code = run(context, err);
    problems_free(&p->problems);
    problems_free(&p->converted);
    planned_close(p);
    scopes_close(&scopes);
    return code;
}

int planned_run(struct planned *p, const char *url, const struct sheaf_pack_options *options,
                planned_run_fn *run, void *context, struct sheaf_pack_result *result,
                struct sheaf_error *error)
{
    struct sheaf_error found;
    int code = pack_options_take(options, &p->options, &found);

    if (code == SHEAF_OK)
        code = planned_open(url, p, &found);
    if (code == SHEAF_OK)
        code = run_opened(p, run, context, &found);
    if (result != NULL)
        *result = p->result;
    if (code != SHEAF_OK && error != NULL)
        *error = found;
    return code;
}

static uint64_t size_of_shard(void *context, uint64_t shard)
{
    return ((const struct plan_shard *)context)[shard].payload_bytes;
}

int planned_part(const struct plan *plan, uint32_t part, uint32_t parts, size_t *first,
                 size_t *end, struct sheaf_error *err)
{
    const uint64_t count = MIN(parts, plan->shard_count);
    uint64_t *starts;

    if (parts == 0 || part >= parts)
        return err_set(err, SHEAF_ERR_ARGUMENT, "part %u of %u: parts are counted from 0 to one "
                       "less than their number", part, parts);
    *first = *end = plan->shard_count;
    if (part >= count)
        return SHEAF_OK;
    starts = calloc(count + 1, sizeof(*starts));
    if (starts == NULL)
        return err_memory(err, count * sizeof(*starts));
    plan_cut(size_of_shard, plan->shards, plan->shard_count, plan->payload_bytes, count, starts);
    *first = starts[part];
    *end = starts[part + 1];
    free(starts);
    return SHEAF_OK;
}
