/* SPDX-License-Identifier: MIT
 *
 * Splits, order and shards of a plan. */
#include "packer/plan/plan.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/manifest.h"

/* ---- Splits ---------------------------------------------------------------------------------- */

static void hash_keys(struct plan *plan, uint64_t seed)
{
    for (size_t i = 0; i < plan->sample_count; i++) {
        const struct catalog_file *f = &plan->files[plan->samples[i].file];

        plan->samples[i].order = XXH3_64bits_withSeed(f->path, f->key_size, seed);
    }
}

static int compare_orders(const struct plan_sample *a, const struct plan_sample *b)
{
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return a->file < b->file ? -1 : a->file > b->file;
}

/* By label, and within one by a hash of its own. */
static int compare_strata(const void *x, const void *y)
{
    const struct plan_sample *a = x, *b = y;

    if (a->label != b->label)
        return a->label < b->label ? -1 : 1;
    return compare_orders(a, b);
}

/* Deals out the samples of each label to the splits. */
static void deal(struct plan *plan, const struct split_spec *spec)
{
    struct split_carry carry = { { 0 } };

    for (size_t at = 0; at < plan->sample_count;) {
        uint64_t counts[SPLIT_LIMIT];
        size_t end = at;

        while (end < plan->sample_count && plan->samples[end].label == plan->samples[at].label)
            end++;
        split_class(spec, end - at, &carry, counts);
        for (uint16_t s = 0; s < spec->count; s++)
            for (; counts[s] > 0; counts[s]--)
                plan->samples[at++].split = s;
    }
}

static int make_splits(struct plan *plan, const struct sheaf_pack_options *options,
                       struct sheaf_error *err)
{
    struct split_spec spec;
    int code;

    plan->split_count = 1;
    if (options->split == NULL)
        return SHEAF_OK;
    code = split_parse(options->split, &spec, err);
    if (code != SHEAF_OK)
        return code;
    plan->split_count = spec.count;
    for (uint32_t s = 0; s < spec.count; s++)
        memcpy(plan->splits[s].name, spec.splits[s].name, SPLIT_NAME_BYTES);
    /* A seed of its own, or a split would be a stretch of the shuffled order. */
    hash_keys(plan, XXH3_64bits_withSeed("split", 5, options->seed));
    if (plan->sample_count > 1)
        qsort(plan->samples, plan->sample_count, sizeof(plan->samples[0]), compare_strata);
    deal(plan, &spec);
    return SHEAF_OK;
}

/* ---- Order ----------------------------------------------------------------------------------- */

static int compare_places(const void *x, const void *y)
{
    const struct plan_sample *a = x, *b = y;

    if (a->split != b->split)
        return a->split < b->split ? -1 : 1;
    return compare_orders(a, b);
}

static int put_in_order(struct plan *plan, const struct sheaf_pack_options *options,
                        struct sheaf_error *err)
{
    hash_keys(plan, options->seed);
    for (size_t i = 0; options->no_shuffle && i < plan->sample_count; i++)
        plan->samples[i].order = 0;     /* files are in byte order of keys already */
    if (plan->sample_count > 1)
        qsort(plan->samples, plan->sample_count, sizeof(plan->samples[0]), compare_places);
    for (uint32_t s = 0; s < plan->split_count; s++)
        plan->splits[s].cls_is_label = true;
    for (size_t i = plan->sample_count; i-- > 0;) {
        struct plan_split *split = &plan->splits[plan->samples[i].split];

        split->sample = i;
        split->sample_count++;
        split->payload_bytes += plan->samples[i].payload_bytes;
        split->cls_is_label &= !plan->samples[i].has_cls;
    }
    for (uint32_t s = 0; s < plan->split_count; s++)
        if (plan->splits[s].sample_count == 0 && plan->split_count > 1)
            return err_set(err, SHEAF_ERR_ARGUMENT,
                           "split: of %zu samples, none would be in %s", plan->sample_count,
                           plan->splits[s].name);
    return SHEAF_OK;
}

/* ---- Shards ---------------------------------------------------------------------------------- */

uint64_t plan_shard_count(uint64_t payload_bytes, uint64_t samples, uint64_t shard_bytes,
                          uint64_t shard_count)
{
    uint64_t count = shard_count;

    if (count == 0)
        count = payload_bytes / shard_bytes +
                (payload_bytes % shard_bytes >= shard_bytes - shard_bytes / 2);
    return MIN(MAX(count, 1), MAX(samples, 1));
}

/* A sample goes where the middle of its bytes lies on the line of all bytes, cut into equal
 * parts; then starts are moved apart where a shard would be empty. */
void plan_cut(plan_size_fn *size_of, void *context, uint64_t count, uint64_t payload_bytes,
              uint64_t shard_count, uint64_t *starts)
{
    const bool by_bytes = payload_bytes != 0;
    const uint64_t total = by_bytes ? payload_bytes : count;
    uint64_t before = 0, next = 1;

    starts[0] = 0;
    for (uint64_t i = 0; i < count && next < shard_count; i++) {
        const uint64_t size = by_bytes ? size_of(context, i) : 1;
        const unsigned __int128 middle = (unsigned __int128)(2 * before + size) * shard_count;

        while (next < shard_count && middle >= (unsigned __int128)2 * next * total)
            starts[next++] = i;
        before += size;
    }
    while (next <= shard_count)
        starts[next++] = count;
    for (uint64_t k = 1; k < shard_count; k++) {
        starts[k] = MAX(starts[k], starts[k - 1] + 1);
        starts[k] = MIN(starts[k], count - (shard_count - k));
    }
}

static uint64_t size_of_sample(void *context, uint64_t sample)
{
    return ((const struct plan_sample *)context)[sample].payload_bytes;
}

/* The shards of one split, appended to those there are. */
static void add_shards(struct plan *plan, uint32_t s, const uint64_t *starts)
{
    const struct plan_split *split = &plan->splits[s];

    for (uint32_t k = 0; k < split->shard_count; k++) {
        struct plan_shard *shard = &plan->shards[split->shard + k];

        shard->split = s;
        shard->number = k;
        shard->sample = split->sample + starts[k];
        shard->first = starts[k];
        shard->sample_count = starts[k + 1] - starts[k];
        for (uint64_t i = 0; i < shard->sample_count; i++)
            shard->payload_bytes += plan->samples[shard->sample + i].payload_bytes;
    }
}

static int make_shards(struct plan *plan, const struct sheaf_pack_options *options,
                       struct sheaf_error *err)
{
    uint64_t *starts, most = 0;

    for (uint32_t s = 0; s < plan->split_count; s++) {
        struct plan_split *split = &plan->splits[s];
        const uint64_t count = plan_shard_count(split->payload_bytes, split->sample_count,
                                                options->shard_bytes, options->shard_count);

        if (count > SHARD_LIMIT)
            return err_set(err, SHEAF_ERR_LIMIT, "%llu shards, the limit is %u",
                           (unsigned long long)count, SHARD_LIMIT);
        split->shard = (uint32_t)plan->shard_count;
        split->shard_count = (uint32_t)count;
        plan->shard_count += count;
        most = MAX(most, count);
    }
    plan->shards = calloc(plan->shard_count, sizeof(plan->shards[0]));
    starts = calloc(most + 1, sizeof(*starts));
    if (plan->shards == NULL || starts == NULL) {
        free(starts);
        return err_memory(err, plan->shard_count * sizeof(plan->shards[0]));
    }
    for (uint32_t s = 0; s < plan->split_count; s++) {
        const struct plan_split *split = &plan->splits[s];

        plan_cut(size_of_sample, plan->samples + split->sample, split->sample_count,
                 split->payload_bytes, split->shard_count, starts);
        add_shards(plan, s, starts);
    }
    free(starts);
    return SHEAF_OK;
}

uint64_t plan_block_end(const struct plan *plan, uint64_t first, uint64_t end)
{
    uint64_t cost = 0, at = first;

    while (at < end && cost < BLOCK_BYTES) {
        cost += plan->samples[at].payload_bytes +
                plan->samples[at].file_count * BLOCK_FILE_BYTES;
        at++;
    }
    return at;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static uint64_t memory_of(const struct plan *plan, const struct catalog *catalog)
{
    return catalog_memory(catalog) + plan->sample_count * sizeof(plan->samples[0]) +
           plan->label_count * sizeof(plan->labels[0]) +
           plan->class_count * (sizeof(plan->classes[0]) + sizeof(plan->class_values[0])) +
           plan->shard_count * sizeof(plan->shards[0]);
}

int plan_make(struct catalog *catalog, const struct sheaf_pack_options *options,
              struct problems *problems, struct plan *plan, struct sheaf_error *err)
{
    int code;

    *plan = (struct plan){ .files = catalog->files, .file_count = catalog->file_count };
    code = plan_group(plan, problems, err);
    if (code == SHEAF_OK)
        code = plan_number_labels(plan, catalog, options->label_base, err);
    if (code == SHEAF_OK)
        code = make_splits(plan, options, err);
    if (code == SHEAF_OK)
        code = put_in_order(plan, options, err);
    if (code == SHEAF_OK)
        code = make_shards(plan, options, err);
    if (code == SHEAF_OK)
        code = plan_hash(plan, options, err);
    if (code != SHEAF_OK) {
        plan_free(plan);
        return code;
    }
    plan->memory_bytes = memory_of(plan, catalog);
    return SHEAF_OK;
}

void plan_free(struct plan *plan)
{
    free(plan->samples);
    free(plan->labels);
    free(plan->classes);
    free(plan->class_values);
    free(plan->shards);
    *plan = (struct plan){ 0 };
}
