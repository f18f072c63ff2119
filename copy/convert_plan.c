/* SPDX-License-Identifier: MIT
 *
 * sheaf_plan_make: makes the plan of a conversion if the source is a data set. Otherwise calls
 * pack_store_plan, which plans the packing of files.
 *
 * Each shard of the data set becomes one shard of the plan. The plan stores no samples, because the
 * samples of a planned shard are the samples of the data set's shard. If keys are repeated, the
 * plan also says what happens to each sample with a repeated key. To find repeated keys, all
 * samples are read once. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "copy/copying.h"
#include "formats/origin.h"
#include "packer/pack_options.h"
#include "packer/packer.h"
#include "packer/plan/plan_file.h"
#include "packer/pack.h"
#include "packer/plan_store.h"
#include "publish/destination.h"
#include "store/scopes.h"

struct conversion {
    struct sheaf_pack_options options;  /* as `sheaf convert` sets them */
    struct manifest manifest;           /* of the source */
    struct plan_facts facts;
    struct buf repeats;                 /* struct plan_repeat[] */
    char *root, *json;
};

static int convert_plan_check_options(const struct sheaf_pack_options *o, const char *source,
                                      struct sheaf_error *err)
{
    struct sheaf_pack_options usual;

    sheaf_pack_options_init(&usual, sizeof(usual));
    if (o->filter_count != 0 || o->class_depth != 0 || o->key_end != SHEAF_FIRST_DOT ||
        (o->field_aliases != NULL && o->field_aliases[0] != NULL) || o->label_base != 0 ||
        o->classes != NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: is a data set, whose samples, keys, fields "
                       "and classes are kept: a plan cannot filter its files, or give it other "
                       "names", source);
    if (o->split == NULL && o->root == NULL && o->shard_count == 0 && !o->no_shuffle &&
        o->seed == 0 && o->on_error == SHEAF_FAIL && o->shard_bytes == usual.shard_bytes &&
        !o->reshard && !o->reshuffle && o->field_map == NULL)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_ARGUMENT, "%s: is a data set, whose shards, order and fields are "
                   "kept: a plan cannot split, shuffle or reshard it", source);
}

/* Makes one planned shard for each shard of the data set. Shards without samples are left out, as
 * in a conversion in a single call. */
static int convert_plan_make_shards(struct conversion *c, struct sheaf_error *err)
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

/* ---- Repeated keys --------------------------------------------------------------------------- */

/* The keys of the samples that were read so far. Used to find repeated keys. */
struct key_reading {
    const struct sheaf_pack_options *options;
    struct keyset keys;
    struct buf *repeats;
    struct buf new_key;
    uint64_t samples;
};

/* Finds the first key in the sequence KEY-2, KEY-3, ... that no sample has, and adds this key to
 * the set of used keys. */
static int choose_number(struct key_reading *r, const char *key, uint64_t *number,
                         struct sheaf_error *err)
{
    const char *new_key;
    int code = SHEAF_ERR_EXISTS;

    for (*number = 1; code == SHEAF_ERR_EXISTS; ) {
        code = packer_numbered_key(&r->new_key, key, ++*number, err);
        new_key = (const char *)r->new_key.data;
        if (code == SHEAF_OK)
            code = keyset_check(&r->keys, new_key, err);
    }
    if (code == SHEAF_OK)
        keyset_add(&r->keys, new_key);
    return code;
}

/* If an earlier sample has the same key as the next sample, records that the next sample gets
 * another key or is left out. The option duplicate_keys decides which of the two. */
static int take_key(struct key_reading *r, const char *key, struct sheaf_error *err)
{
    struct plan_repeat repeat = { .sample = r->samples++ };
    int code = keyset_check(&r->keys, key, err);

    if (code == SHEAF_OK)
        keyset_add(&r->keys, key);
    if (code != SHEAF_ERR_EXISTS)
        return code;
    code = SHEAF_OK;
    if (r->options->duplicate_keys == SHEAF_DUPLICATE_NUMBER)
        code = choose_number(r, key, &repeat.number, err);
    return code == SHEAF_OK ? buf_append(r->repeats, &repeat, sizeof(repeat), err) : code;
}

/* Reads the keys of all samples. */
static int read_keys(struct key_reading *r, struct copying *in, struct sheaf_error *err)
{
    struct sheaf_reader_options reading;
    const struct sheaf_sample *samples;
    size_t count;
    int code;

    sheaf_reader_options_init(&reading, sizeof(reading));
    reading.threads = r->options->jobs;
    reading.memory_bytes = r->options->memory_bytes;
    code = copying_open(in, &reading, err);
    while (code == SHEAF_OK && (code = copying_next(in, 0, &samples, &count, err)) == SHEAF_OK)
        for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
            code = take_key(r, samples[i].key, err);
            copying_done(in, &samples[i]);
        }
    return code == SHEAF_END ? SHEAF_OK : code;
}

/* Finds the samples with repeated keys. */
static int find_repeats(struct conversion *c, const char *source, struct sheaf_error *err)
{
    struct key_reading r = { .options = &c->options, .repeats = &c->repeats };
    struct sheaf_dataset *dataset = NULL;
    struct problems none;
    struct watch watch;
    struct copying in;
    int code = sheaf_dataset_open(&source, 1, &dataset, err);

    if (code != SHEAF_OK)
        return code;
    pack_options_watch(&c->options, &watch, &none);
    copying_init(&in, dataset, &watch, "read keys");
    code = read_keys(&r, &in, err);
    copying_close(&in, NULL);
    keyset_free(&r.keys);
    buf_free(&r.new_key);
    sheaf_dataset_free(dataset);
    return code;
}

/* Records in the plan what happens to each sample that has the key of an earlier sample. To find
 * these samples, the function reads all samples. There are two exceptions:
 * - If the caller does not allow repeated keys, no samples are read. The function returns an error
 *   if the manifest says that keys are repeated.
 * - If Sheaf packed the data set and the manifest counts no repeated keys, no samples are read,
 *   because no key is repeated. */
static int plan_keys(struct conversion *c, const char *source, struct sheaf_error *err)
{
    const struct manifest *m = &c->manifest;
    int code = SHEAF_OK;

    c->repeats.limit = SIZE_MAX / 4;
    if (m->repeated_keys != 0 && c->options.duplicate_keys == SHEAF_DUPLICATE_FAIL)
        return err_because(err, err_set(err, SHEAF_ERR_EXISTS, "%s: %llu of its samples %s the key "
                                        "of an earlier sample", source,
                                        (unsigned long long)m->repeated_keys,
                                        m->repeated_keys == 1 ? "has" : "have"),
                           SHEAF_REASON_REPEATED_KEY);
    if (c->options.duplicate_keys != SHEAF_DUPLICATE_FAIL && (m->repeated_keys != 0 || !m->ours))
        code = find_repeats(c, source, err);
    c->facts.repeats = (const struct plan_repeat *)(const void *)c->repeats.data;
    c->facts.repeat_count = c->repeats.size / sizeof(struct plan_repeat);
    return code;
}

/* ---- The plan -------------------------------------------------------------------------------- */

static int convert_plan_set_facts(struct conversion *c, const char *source, const char *dest,
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
    c->json = pack_options_json(&c->options, "program", f->plan.hash, "");
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

static int convert_plan_make_plan(struct conversion *c, const char *source, const char *dest,
                                  const char *plan, struct sheaf_error *err)
{
    int code = convert_plan_check_options(&c->options, source, err);

    if (c->options.check_images == SHEAF_CHECK_USUAL)
        c->options.check_images = SHEAF_CHECK_NONE;
    c->options.label_base = c->manifest.label_base;
    c->options.shard_bytes = INT64_MAX;
    if (code == SHEAF_OK)
        code = convert_plan_make_shards(c, err);
    if (code == SHEAF_OK)
        code = make_labels(c, err);
    if (code == SHEAF_OK)
        code = plan_keys(c, source, err);
    if (code == SHEAF_OK)
        code = convert_plan_set_facts(c, source, dest, err);
    return code == SHEAF_OK ? plan_store(&c->facts, NULL, &c->options, c->root, plan, err)
                            : code;
}

/* Makes and stores the plan for converting the data set at `source`. Returns SHEAF_END if `source`
 * is not a data set. `dest` must be absolute. */
static int plan_conversion(const char *source, const char *dest, const char *plan,
                           const struct sheaf_pack_options *options,
                           struct sheaf_pack_result *result, struct sheaf_error *err)
{
    struct conversion c = { .options = *options };
    struct sheaf_error found;
    int code = destination_read_manifest(source, &c.manifest, &found);

    if (code == SHEAF_ERR_CORRUPT)
        return err_set(err, code, "%s", found.message);
    if (code != SHEAF_OK)
        /* Any error other than a damaged manifest means that the source is not a data set. */
        return SHEAF_END;
    code = convert_plan_make_plan(&c, source, dest, plan, err);
    result->samples = c.facts.plan.sample_count;
    result->payload_bytes = c.facts.plan.payload_bytes;
    result->shards = c.facts.plan.shard_count;
    result->duplicates = c.facts.repeat_count;
    plan_facts_free(&c.facts);
    manifest_clear(&c.manifest);
    buf_free(&c.repeats);
    free(c.root);
    free(c.json);
    return code;
}

/* Makes the plan of a conversion or of files. */
static int convert_plan_make(const char *const *sources, size_t count, const char *dest,
                             const char *plan, const struct sheaf_pack_options *options,
                             struct sheaf_pack_result *result, struct sheaf_error *err)
{
    int code = plan_store_refuse_replacing(plan, dest, err);

    if (code == SHEAF_OK)
        code = count == 1 ? plan_conversion(sources[0], dest, plan, options, result, err)
                          : SHEAF_END;
    if (code != SHEAF_END)
        return code;
    if (options->duplicate_keys != SHEAF_DUPLICATE_FAIL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: is not a data set. Files with one key are one "
                       "sample, so that only a data set can have repeated keys", sources[0]);
    return pack_store_plan(sources, count, dest, plan, options, result, err);
}

int sheaf_plan_make(const char *const *sources, size_t count, const char *dest, const char *plan,
                    const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
                    struct sheaf_error *error)
{
    struct sheaf_pack_result made = { .shards = 0 };
    struct store_scopes scopes = { .count = 0 };
    struct sheaf_pack_options own;
    struct sheaf_error found;
    char *absolute = plan_absolute(dest);
    int code = absolute == NULL ? err_memory(&found, strlen(dest))
                                : pack_options_take_usual(options, &own, &found);

    if (code == SHEAF_OK && count == 0)
        code = err_set(&found, SHEAF_ERR_ARGUMENT, "no sources");
    if (code == SHEAF_OK)
        code = scopes_open(&scopes, absolute, plan, own.s3, &found);
    if (code == SHEAF_OK)
        code = convert_plan_make(sources, count, absolute, plan, &own, &made, &found);
    scopes_close(&scopes);
    free(absolute);
    if (result != NULL)
        *result = made;
    if (code != SHEAF_OK && error != NULL)
        *error = found;
    return code;
}
