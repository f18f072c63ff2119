/* SPDX-License-Identifier: MIT
 *
 * The plan hash: XXH3-128 over the options, the samples and their order.  Two runs with one hash
 * make the same bytes (of the same files); so a run may go on where another has ended. */
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "packer/plan.h"

/* Changes with every change of the bytes that a plan stands for. */
#define PLAN_VERSION 1

static void add_number(XXH3_state_t *state, uint64_t value)
{
    XXH3_128bits_update(state, &value, sizeof(value));
}

static void add_text(XXH3_state_t *state, const char *text)
{
    const size_t size = text == NULL ? 0 : strlen(text);

    add_number(state, size);
    XXH3_128bits_update(state, text == NULL ? "" : text, size);
}

static void add_options(XXH3_state_t *state, const struct sheaf_pack_options *o)
{
    add_number(state, PLAN_VERSION);
    add_number(state, (uint64_t)o->container);
    add_number(state, (uint64_t)o->codec);
    add_number(state, o->single_member != 0);
    add_number(state, (uint64_t)o->label_base);
    add_text(state, o->prefix);
    add_text(state, o->index);
}

static void add_labels(XXH3_state_t *state, const struct plan *plan)
{
    add_number(state, plan->label_count);
    for (uint32_t i = 0; i < plan->label_count; i++) {
        const struct plan_label *l = &plan->labels[i];

        add_text(state, l->class_name);
        add_number(state, l->value_count);
        if (l->value_count != 0)
            XXH3_128bits_update(state, l->values, l->value_count * sizeof(double));
    }
}

static void add_sample(XXH3_state_t *state, const struct plan *plan,
                       const struct plan_sample *s)
{
    add_number(state, (uint64_t)s->label << 32 | s->file_count);
    for (uint32_t i = 0; i < s->file_count; i++) {
        const struct catalog_file *f = &plan->files[s->file + i];

        add_text(state, f->path);
        add_number(state, f->bytes);
        if (f->place == CATALOG_TEXT)
            XXH3_128bits_update(state, f->text, f->bytes);
    }
}

int plan_hash(struct plan *plan, const struct sheaf_pack_options *options,
              struct sheaf_error *err)
{
    XXH3_state_t *state = XXH3_createState();
    XXH128_hash_t hash;

    if (state == NULL)
        return err_memory(err, 1024);
    XXH3_128bits_reset(state);
    add_options(state, options);
    add_labels(state, plan);
    add_number(state, plan->shard_count);
    for (size_t i = 0; i < plan->shard_count; i++) {
        const struct plan_shard *shard = &plan->shards[i];

        add_text(state, plan->splits[shard->split].name);
        add_number(state, shard->number);
        add_number(state, shard->sample_count);
        for (uint64_t k = 0; k < shard->sample_count; k++)
            add_sample(state, plan, &plan->samples[shard->sample + k]);
    }
    hash = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    snprintf(plan->hash, sizeof(plan->hash), "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
    return SHEAF_OK;
}
