/* SPDX-License-Identifier: MIT
 *
 * The model of the planner; see common_model_plan.h. */
#include "tests/common_model_plan.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/manifest.h"

/* ---- Samples --------------------------------------------------------------------------------- */

static int compare_keys(const struct catalog_file *a, const struct catalog_file *b)
{
    const int order = memcmp(a->path, b->path, MIN(a->key_size, b->key_size));

    return order != 0 ? order : (int)a->key_size - (int)b->key_size;
}

static const char *suffix_of(const struct catalog_file *f)
{
    return f->path + f->key_size + 1;
}

static int compare_files(const void *a, const void *b)
{
    const struct catalog_file *x = a, *y = b;
    const int order = compare_keys(x, y);

    return order != 0 ? order : strcmp(suffix_of(x), suffix_of(y));
}

/* The files that have the same key. */
struct group {
    const struct catalog_file *files;
    uint32_t count;
};

static struct group next_group(const struct plan *plan, size_t at)
{
    struct group g = { &plan->files[at], 1 };

    while (at + g.count < plan->file_count &&
           compare_keys(g.files, &plan->files[at + g.count]) == 0)
        g.count++;
    return g;
}

static int group_files(struct plan *plan, struct problems *problems, struct sheaf_error *err)
{
    const size_t most = MAX(plan->file_count, (size_t)1);

    /* Memory pages that hold no sample are never touched. */
    plan->samples = calloc(most, sizeof(plan->samples[0]));
    if (plan->samples == NULL)
        return err_memory(err, most * sizeof(plan->samples[0]));
    if (plan->file_count > 1)
        qsort(plan->files, plan->file_count, sizeof(plan->files[0]), compare_files);
    for (size_t at = 0; at < plan->file_count;) {
        const struct group g = next_group(plan, at);
        struct plan_sample *s = &plan->samples[plan->sample_count];
        bool good;
        int code = plan_check_group(g.files, g.count, NULL, problems, &good, err);

        if (code != SHEAF_OK)
            return code;
        if (good) {
            plan_make_sample(g.files, g.count, s);
            s->file = (uint32_t)at;
        }
        at += g.count;
        if (!good)
            continue;
        if (s->payload_bytes > PAYLOAD_LIMIT - plan->payload_bytes)
            return err_set(err, SHEAF_ERR_LIMIT, "the files have more than 2^62 bytes");
        plan->payload_bytes += s->payload_bytes;
        plan->sample_count++;
    }
    return SHEAF_OK;
}

static int number_labels(struct plan *plan, const struct catalog *catalog, int label_base,
                         struct sheaf_error *err)
{
    bool *used = calloc((size_t)catalog->label_count + 1, sizeof(*used));
    uint32_t *renamed = NULL;
    bool with_cls = false;
    int code;

    if (used == NULL)
        return err_memory(err, catalog->label_count);
    for (size_t i = 0; i < plan->sample_count; i++)
        with_cls |= plan->samples[i].label != LABEL_NONE && !plan->samples[i].has_cls;
    for (size_t i = 0; i < plan->sample_count; i++)
        if (with_cls || !plan->samples[i].has_cls)
            used[plan->samples[i].label] = true;
    code = plan_rank_labels(plan, catalog, used, label_base, NULL, NULL, &renamed, err);
    for (size_t i = 0; code == SHEAF_OK && i < plan->sample_count; i++)
        plan->samples[i].label = renamed[plan->samples[i].label];
    free(renamed);
    free(used);
    return code;
}

/* ---- Splits ---------------------------------------------------------------------------------- */

/* The context of the comparison functions, because qsort passes none. */
static struct {
    const struct plan *plan;
    uint64_t seed;
    bool is_sorted;             /* whether samples are ordered by key alone */
} by;

static uint64_t order_of(const struct plan_sample *s)
{
    const struct catalog_file *f = &by.plan->files[s->file];

    return by.is_sorted ? 0 : XXH3_64bits_withSeed(f->path, f->key_size, by.seed);
}

static int compare_orders(const struct plan_sample *a, const struct plan_sample *b)
{
    const uint64_t x = order_of(a), y = order_of(b);

    if (x != y)
        return x < y ? -1 : 1;
    return a->file < b->file ? -1 : a->file > b->file;
}

/* Orders samples by label, and samples with the same label by a hash. */
static int compare_strata(const void *x, const void *y)
{
    const struct plan_sample *a = x, *b = y;

    if (a->label != b->label)
        return a->label < b->label ? -1 : 1;
    return compare_orders(a, b);
}

/* Assigns the samples of each label to the splits. */
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
    /* The hash has a seed of its own. With the seed of the order, a split would be a range of the
     * shuffled order. */
    by.plan = plan;
    by.seed = XXH3_64bits_withSeed("split", 5, options->seed);
    by.is_sorted = false;
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
    by.plan = plan;
    by.seed = options->seed;
    by.is_sorted = options->no_shuffle;
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

static uint64_t size_of_sample(void *context, uint64_t sample)
{
    return ((const struct plan_sample *)context)[sample].payload_bytes;
}

/* Appends the shards of one split to the existing shards. */
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

/* ---- The hash -------------------------------------------------------------------------------- */

/* The content of a text is already part of the hash. */
static uint64_t source_of(uint64_t source, const struct catalog_file *file)
{
    if (file->origin == CATALOG_TEXT)
        return source;
    return file->origin == CATALOG_OBJECT
               ? plan_source_add(source, file->object->stamp, file->object->url)
               : plan_source_add(source, file->stamp, NULL);
}

static int hash_plan(struct plan *plan, const struct sheaf_pack_options *options,
                     struct sheaf_error *err)
{
    XXH3_state_t *state = plan_hash_begin(plan, options, plan->shard_count);

    if (state == NULL)
        return err_memory(err, 1024);
    for (size_t i = 0; i < plan->shard_count; i++) {
        struct plan_shard *shard = &plan->shards[i];

        plan_hash_shard(state, plan->splits[shard->split].name, shard->number,
                        shard->sample_count);
        for (uint64_t k = 0; k < shard->sample_count; k++) {
            const struct plan_sample *s = &plan->samples[shard->sample + k];

            plan_hash_sample(state, s->label, s->file_count);
            for (uint32_t f = 0; f < s->file_count; f++) {
                const struct catalog_file *file = &plan->files[s->file + f];

                plan_hash_file(state, file->path, file->bytes,
                               file->origin == CATALOG_TEXT ? file->text : NULL);
                shard->source = source_of(shard->source, file);
            }
        }
    }
    plan_hash_end(state, plan->hash);
    return SHEAF_OK;
}

/* ---- The whole ------------------------------------------------------------------------------- */

int model_plan(struct catalog *catalog, const struct sheaf_pack_options *options,
               struct problems *problems, struct plan *plan, struct sheaf_error *err)
{
    int code;

    *plan = (struct plan){ .files = catalog->files, .file_count = catalog->file_count };
    code = group_files(plan, problems, err);
    if (code == SHEAF_OK)
        code = number_labels(plan, catalog, options->label_base, err);
    if (code == SHEAF_OK)
        code = make_splits(plan, options, err);
    if (code == SHEAF_OK)
        code = put_in_order(plan, options, err);
    if (code == SHEAF_OK)
        code = make_shards(plan, options, err);
    if (code == SHEAF_OK)
        code = hash_plan(plan, options, err);
    if (code != SHEAF_OK)
        plan_free(plan);
    return code;
}

