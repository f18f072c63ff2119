/* SPDX-License-Identifier: MIT
 *
 * Implements the packer for one process that packs some of the shards of a planned conversion.
 * sheaf_commit() publishes the shards of all processes later. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "packer/packer.h"
#include "packer/planned.h"
#include "packer/run.h"

int packer_begin_shard(struct sheaf_packer *p, uint64_t shard)
{
    int code = packer_check_open(p);

    if (code == SHEAF_OK && (!p->is_part || shard >= p->file.facts.plan.shard_count))
        code = err_set(&p->error, SHEAF_ERR_ARGUMENT, "shard %llu is not in the plan",
                       (unsigned long long)shard);
    if (code == SHEAF_OK && !p->is_there)
        code = packer_check_shard(p);
    if (code != SHEAF_OK || p->is_there)
        return code;
    if (p->slot != NULL)
        packer_submit(p, true);
    p->samples = p->file.facts.plan.shards[shard].first;
    p->shard = (struct plan_shard){ .number = (uint32_t)shard, .first = p->samples };
    p->shard_done = false;
    return SHEAF_OK;
}

int packer_finish_shard(struct sheaf_packer *p, uint64_t place)
{
    int code = sheaf_packer_cut_at(p, place);

    if (code != SHEAF_OK || p->is_there)
        return code;
    code = packer_check_shard(p);
    if (code == SHEAF_OK && p->slot != NULL)
        packer_submit(p, true);
    if (code == SHEAF_OK)
        code = engine_drain(&p->engine, &p->error);
    return packer_unless_finished(p, code);
}

static int packer_part_join(struct sheaf_packer *p, uint32_t parts, struct sheaf_error *err)
{
    const struct plan_facts *f = &p->file.facts;
    const uint64_t largest = run_largest_shard(&f->plan, 0, f->plan.shard_count);
    int code;

    pack_options_setup(&p->options, &p->setup);
    pack_options_watch(&p->options, &p->watch, &p->problems);
    p->setup.context.classes = f->plan.classes;
    p->setup.context.class_count = f->plan.class_count;
    code = packer_check_memory(p, largest, err);
    if (code == SHEAF_OK)
        code = pack_output_open(&p->output, p->dest, &p->setup, p->prefix, &f->plan, err);
    if (code == SHEAF_OK)
        code = output_join(&p->output, parts, &p->is_there, err);
    if (code != SHEAF_OK || p->is_there)
        return code;
    return packer_open_engine(p, largest, err);
}

int packer_open_part(const char *plan, uint32_t parts, const struct sheaf_pack_options *options,
                     struct sheaf_packer **packer, struct sheaf_error *err)
{
    struct sheaf_packer *p = calloc(1, sizeof(*p));
    int code;

    if (p == NULL)
        return err_memory(err, sizeof(*p));
    p->is_part = true;
    p->output.lock = -1;
    code = pack_options_take(options, &p->options, err);
    if (code == SHEAF_OK)
        code = plan_file_open(plan, &p->file, err);
    if (code == SHEAF_OK)
        code = planned_check_libraries(&p->file, err);
    if (code == SHEAF_OK) {
        plan_facts_give(&p->file.facts, &p->options);
        p->options.max_skipped = NULL;      /* sheaf_commit() counts the samples of all parts */
        p->options.shard_bytes = INT64_MAX; /* the plan says where a shard ends */
        p->keys_differ = plan_facts_is_column(&p->file.facts);
        code = packer_copy_texts(p, p->file.facts.dest, err);
    }
    if (code == SHEAF_OK)
        code = packer_part_join(p, parts, err);
    if (code == SHEAF_OK) {
        *packer = p;
        return SHEAF_OK;
    }
    p->state = PACKER_FAILED;
    sheaf_packer_free(p);
    return code;
}
