/* SPDX-License-Identifier: MIT
 *
 * Implements sheaf_plan_open, which finds out which shards of a stored plan are finished, so that
 * sheaf_commit would accept them. For this purpose, it reads listings of the destination and
 * journal entries (the stored facts about finished shards). It reads a shard itself only if the
 * shard's stamp (time, inode or ETag) differs from the stamp in its entry. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "publish/destination.h"
#include "packer/finished.h"
#include "packer/planned.h"

struct sheaf_plan {
    struct planned planned;
    bool *done;                 /* of each shard */
    char *name;                 /* of the shard that was requested last */
    uint64_t done_shards, done_samples, done_payload_bytes;
    bool committed;
    uint32_t parts;
};

static void count_done(struct sheaf_plan *p, size_t i)
{
    const struct plan_shard *shard = &p->planned.file.facts.plan.shards[i];

    p->done[i] = true;
    p->done_shards++;
    p->done_samples += shard->sample_count;
    p->done_payload_bytes += shard->payload_bytes;
}

/* Counts a shard if it and its journal entry are there. */
static int check_listed(void *context, const struct finished *finished, size_t i,
                        const struct journal_entry *entry, struct sheaf_error *err)
{
    enum output_shard_state state = SHARD_MISSING;
    int code = SHEAF_OK;

    if (entry != NULL)
        code = output_listing_check(finished->listing, finished->output,
                                    finished->plan->shards[i].split, entry, &state, err);
    if (code == SHEAF_OK && state == SHARD_THERE)
        count_done(context, i);
    return code;
}

static int list_done(struct sheaf_plan *p, struct sheaf_error *err)
{
    const struct plan *plan = &p->planned.file.facts.plan;
    struct finished finished = {
        .output = &p->planned.output, .plan = plan, .end = plan->shard_count,
    };
    const int code = output_parts(&p->planned.output, &p->parts, err);

    return code == SHEAF_OK ? finished_each(&finished, check_listed, p, err) : code;
}

/* Counts the existing shards of a published split. A shard counts if it has the size that the
 * split's manifest states. A shard without samples is not in the manifest, and always counts. */
static int check_split(struct sheaf_plan *p, const struct output_listing *listing, uint32_t split,
                       struct sheaf_error *err)
{
    const struct plan *plan = &p->planned.file.facts.plan;
    struct manifest m;
    size_t at = 0;
    int code = destination_read_manifest(p->planned.output.directories[split], &m, err);

    if (code != SHEAF_OK)
        return code;
    for (size_t i = 0; i < plan->shard_count && code == SHEAF_OK; i++) {
        char name[SHARD_NAME_BYTES];
        bool is_named;

        if (plan->shards[i].split != split)
            continue;
        code = pack_output_name(&p->planned.output, &plan->shards[i], name, err);
        is_named = code == SHEAF_OK && at < m.shard_count && strcmp(m.shards[at].name, name) == 0;
        if (code == SHEAF_OK && (!is_named || output_listing_has_size(listing, split, name,
                                                                      m.shards[at].bytes)))
            count_done(p, i);
        at += is_named;
    }
    manifest_clear(&m);
    return code;
}

/* Counts the existing shards of a published data set. If the store does not list its objects, all
 * shards are assumed to exist. */
static int check_published(struct sheaf_plan *p, struct sheaf_error *err)
{
    const struct output *output = &p->planned.output;
    struct output_listing *listing = NULL;
    int code = output_list(output, &listing, err);

    if (code == SHEAF_ERR_ACCESS || code == SHEAF_ERR_UNSUPPORTED) {
        for (size_t i = 0; i < p->planned.file.facts.plan.shard_count; i++)
            count_done(p, i);
        return SHEAF_OK;
    }
    for (uint32_t s = 0; s < output->split_count && code == SHEAF_OK; s++)
        code = check_split(p, listing, s, err);
    output_listing_free(listing);
    return code;
}

static int plan_status_find_done(struct sheaf_plan *p, struct sheaf_error *err)
{
    const struct output *output = &p->planned.output;
    struct destination d = { .claim = CLAIM_ABSENT };
    int code = destination_inspect(output, INSPECT_CLAIM | INSPECT_DATASET, &d, err);

    p->committed = code == SHEAF_OK && (d.is_finished || d.grown_from != 0);
    if (p->committed)
        code = check_published(p, err);
    else if (code == SHEAF_OK)
        code = destination_refuse(output, &d, REFUSE_FAULT, err);
    if (code == SHEAF_OK && !p->committed && d.claim == CLAIM_DAMAGED)
        code = destination_refuse_no_run(output, &d, err);
    /* Shards of another plan do not count. */
    if (code == SHEAF_OK && !p->committed && d.claim == CLAIM_OF_PLAN)
        code = list_done(p, err);
    destination_clear(&d);
    return code;
}

int sheaf_plan_open(const char *url, struct sheaf_plan **opened, struct sheaf_error *err)
{
    struct sheaf_plan *p = calloc(1, sizeof(*p));
    int code;

    if (p == NULL)
        return err_memory(err, sizeof(*p));
    code = planned_open(url, &p->planned, err);
    if (code != SHEAF_OK) {
        free(p);
        return code;
    }
    p->done = calloc(p->planned.file.facts.plan.shard_count, sizeof(p->done[0]));
    p->name = calloc(1, SHARD_NAME_BYTES);
    code = p->done == NULL || p->name == NULL
               ? err_memory(err, p->planned.file.facts.plan.shard_count)
               : plan_status_find_done(p, err);
    if (code == SHEAF_OK)
        *opened = p;
    else
        sheaf_plan_free(p);
    return code;
}

int sheaf_is_plan(const char *url)
{
    return plan_file_is(url);
}

void sheaf_plan_get_info(const struct sheaf_plan *p, struct sheaf_plan_info *info, size_t size)
{
    const struct plan_facts *facts = &p->planned.file.facts;
    const struct sheaf_plan_info all = {
        .dest = facts->dest, .source = facts->source, .root = facts->root,
        .fingerprint = facts->fingerprint, .hash = facts->plan.hash,
        .container = facts->options.container, .codec = facts->options.codec,
        .plan_bytes = p->planned.file.object->bytes, .files = facts->files,
        .samples = facts->plan.sample_count, .payload_bytes = facts->plan.payload_bytes,
        .shards = facts->plan.shard_count, .done_shards = p->done_shards,
        .done_samples = p->done_samples, .done_payload_bytes = p->done_payload_bytes,
        .committed = p->committed, .parts = p->parts,
        .class_count = facts->plan.class_count, .label_base = facts->options.label_base,
        .cls_looked = facts->cls_looked, .cls_words = facts->cls_words,
        .duplicates = facts->repeat_count,
        .dropped = facts->repeat_count != 0 && facts->repeats[0].number == 0
                       ? facts->repeat_count : 0,
    };

    sized_give(info, size, &all, sizeof(all));
}

const char *sheaf_plan_class(const struct sheaf_plan *p, size_t index)
{
    const struct plan *plan = &p->planned.file.facts.plan;

    return index < plan->class_count ? plan->classes[index] : NULL;
}

int sheaf_plan_shard(const struct sheaf_plan *p, uint64_t index, struct sheaf_plan_shard *shard,
                     int *done, struct sheaf_error *err)
{
    const struct plan *plan = &p->planned.file.facts.plan;
    int code;

    if (index >= plan->shard_count)
        return err_set(err, SHEAF_ERR_ARGUMENT, "shard %llu of %zu", (unsigned long long)index,
                       plan->shard_count);
    code = pack_output_name(&p->planned.output, &plan->shards[index], p->name, err);
    *shard = (struct sheaf_plan_shard){
        .split = plan->splits[plan->shards[index].split].name, .name = p->name,
        .samples = plan->shards[index].sample_count,
        .payload_bytes = plan->shards[index].payload_bytes,
    };
    *done = p->done[index];
    return code;
}

int sheaf_plan_part(const struct sheaf_plan *p, uint32_t part, uint32_t parts, uint64_t *first,
                    uint64_t *end, struct sheaf_error *err)
{
    size_t from, to;
    int code = planned_part(&p->planned.file.facts.plan, part, parts, &from, &to, err);

    if (code == SHEAF_OK) {
        *first = from;
        *end = to;
    }
    return code;
}

void sheaf_plan_free(struct sheaf_plan *p)
{
    if (p == NULL)
        return;
    planned_close(&p->planned);
    free(p->done);
    free(p->name);
    free(p);
}
