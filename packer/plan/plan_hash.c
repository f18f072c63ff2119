/* SPDX-License-Identifier: MIT
 *
 * Computes the plan hash: XXH3-128 of the options, the samples and their order.
 *
 * Two runs with the same plan hash make the same bytes from the same files. The hash does not cover
 * locations and times, so that a copy of the files gives the same data set. Another hash, the
 * identity (plan_identify), tells whether two runs have the same files. */
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "image/image.h"
#include "packer/plan/plan.h"

/* Part of the plan hash. Must be increased if a changed packer makes other bytes from the same
 * plan. */
#define PLAN_VERSION 1

static void plan_hash_add_number(XXH3_state_t *state, uint64_t value)
{
    value = htole64(value);
    XXH3_128bits_update(state, &value, sizeof(value));
}

static void plan_hash_add_text(XXH3_state_t *state, const char *text)
{
    const size_t size = text == NULL ? 0 : strlen(text);

    plan_hash_add_number(state, size);
    XXH3_128bits_update(state, text == NULL ? "" : text, size);
}

/* Adds the options for images to the hash. Adds nothing if none of these options is set, so that
 * the hashes of older releases remain valid. */
static void add_images(XXH3_state_t *state, const struct sheaf_pack_options *o)
{
    if (!o->fix_images && o->resize == 0 && o->check_images == SHEAF_CHECK_MARKERS)
        return;
    plan_hash_add_text(state, "images");
    plan_hash_add_number(state, (uint64_t)o->check_images);
    plan_hash_add_number(state, o->fix_images != 0);
    if (!o->fix_images && o->resize == 0)
        return;
    plan_hash_add_number(state, o->resize);
    plan_hash_add_number(state, o->resize == 0 ? 0 : (uint64_t)o->resize_mode);
    plan_hash_add_number(state, (uint64_t)o->quality);
    plan_hash_add_text(state, image_libraries());
}

static void add_options(XXH3_state_t *state, const struct sheaf_pack_options *o)
{
    plan_hash_add_number(state, PLAN_VERSION);
    plan_hash_add_number(state, (uint64_t)o->container);
    plan_hash_add_number(state, (uint64_t)o->codec);
    /* whether a shard is one member or frame */
    plan_hash_add_number(state, o->codec != SHEAF_CODEC_NONE);
    plan_hash_add_number(state, (uint64_t)o->label_base);
    plan_hash_add_text(state, o->prefix);
    plan_hash_add_text(state, o->index);
    add_images(state, o);
}

static void plan_hash_add_labels(XXH3_state_t *state, const struct plan *plan)
{
    plan_hash_add_number(state, plan->label_count);
    for (uint32_t i = 0; i < plan->label_count; i++) {
        const struct plan_label *l = &plan->labels[i];

        plan_hash_add_text(state, l->class_name);
        plan_hash_add_number(state, l->value_count);
        for (size_t k = 0; k < l->value_count; k++)
            plan_hash_add_number(state, bits_of(l->values[k]));
    }
}

void plan_hash_file(XXH3_state_t *state, const char *path, uint64_t bytes, const char *text)
{
    plan_hash_add_text(state, path);
    plan_hash_add_number(state, bytes);
    if (text != NULL)
        XXH3_128bits_update(state, text, bytes);
}

void plan_hash_sample(XXH3_state_t *state, uint32_t label, uint32_t file_count)
{
    plan_hash_add_number(state, (uint64_t)label << 32 | file_count);
}

void plan_hash_shard(XXH3_state_t *state, const char *split, uint64_t number,
                     uint64_t sample_count)
{
    plan_hash_add_text(state, split);
    plan_hash_add_number(state, number);
    plan_hash_add_number(state, sample_count);
}

XXH3_state_t *plan_hash_begin(const struct plan *plan, const struct sheaf_pack_options *options,
                              uint64_t shard_count)
{
    XXH3_state_t *state = XXH3_createState();

    if (state == NULL)
        return NULL;
    XXH3_128bits_reset(state);
    add_options(state, options);
    plan_hash_add_labels(state, plan);
    plan_hash_add_number(state, shard_count);
    return state;
}

void plan_hash_images(XXH3_state_t *state)
{
    plan_hash_add_text(state, "image/encoded");
}

void plan_hash_end(XXH3_state_t *state, char text[PLAN_HASH_SIZE])
{
    const XXH128_hash_t hash = XXH3_128bits_digest(state);

    XXH3_freeState(state);
    snprintf(text, PLAN_HASH_SIZE, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
}

uint64_t plan_source_add(uint64_t source, uint64_t stamp, const char *url)
{
    stamp = htole64(stamp);
    source = XXH3_64bits_withSeed(&stamp, sizeof(stamp), source);
    return url == NULL ? source : XXH3_64bits_withSeed(url, strlen(url), source);
}

/* Stores the two 64-bit words of a hash as bytes, the low word first. */
static void store_hash(uint8_t *at, XXH128_hash_t hash)
{
    store64(at, hash.low64);
    store64(at + 8, hash.high64);
}

void plan_identify(struct plan *plan, const char *root, bool of_sources)
{
    uint8_t words[4 * sizeof(uint64_t)];
    XXH128_hash_t hash;

    store_hash(words, XXH3_128bits_withSeed(root, strlen(root), PLAN_VERSION));
    store_hash(words + 16, XXH3_128bits(plan->hash, PLAN_HASH_SIZE - 1));
    hash = XXH3_128bits(words, sizeof(words));
    for (size_t i = 0; i < plan->shard_count && of_sources; i++) {
        store_hash(words, hash);
        store64(words + 16, plan->shards[i].source);
        hash = XXH3_128bits(words, 24);
    }
    snprintf(plan->identity, PLAN_HASH_SIZE, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
}
