/* SPDX-License-Identifier: MIT
 *
 * Naming shards, checking finished ones, and ending a run. */
#include "packer/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/xxh3_wide.h"
#include "store/store.h"

/* ---- Life ------------------------------------------------------------------------------------ */

/* Finished shards are read in such pieces, to be checked. */
#define CHECK_BYTES ((size_t)1 << 20)

/* A journal knows the shards of a program by no plan. */
#define NO_PLAN "00000000000000000000000000000000"

int output_open(struct output *o, const char *dest, const struct block_setup *setup,
                const char *prefix, const struct plan *plan, struct sheaf_error *err)
{
    int code;

    *o = (struct output){ .dest = dest, .setup = setup, .prefix = prefix, .lock = -1 };
    code = journal_open(&o->journal, dest, err);
    if (code != SHEAF_OK)
        return code;
    o->split_count = plan == NULL ? 1 : plan->split_count;
    o->journal.plan.split_count = o->split_count;
    snprintf(o->plan_hash, PLAN_HASH_SIZE, "%s", plan == NULL ? NO_PLAN : plan->hash);
    snprintf(o->journal.plan.hash, PLAN_HASH_SIZE, "%s", plan == NULL ? NO_PLAN : plan->identity);
    snprintf(o->origin, PLAN_HASH_SIZE, "%s", plan == NULL ? "" : plan->origin);
    snprintf(o->journal.plan.prefix, SHARD_NAME_BYTES, "%s", prefix);
    for (uint32_t i = 0; i < o->split_count; i++) {
        const char *split = plan == NULL ? "" : plan->splits[i].name;

        snprintf(o->journal.plan.splits[i], SPLIT_NAME_BYTES, "%s", split);
        o->shard_counts[i] = plan == NULL ? 0 : plan->splits[i].shard_count;
        o->directories[i] = split[0] == '\0' ? strdup(dest) : store_join(dest, split);
        if (o->directories[i] == NULL)
            return err_memory(err, strlen(dest));
    }
    return SHEAF_OK;
}

void output_close(struct output *o)
{
    for (uint32_t i = 0; i < o->split_count; i++)
        free(o->directories[i]);
    o->split_count = 0;
    store_unlock(o->lock);
    o->lock = -1;
    journal_close(&o->journal);
}

/* ---- Shards ---------------------------------------------------------------------------------- */

int output_shard_name(const struct output *o, const struct plan_shard *shard,
                      char name[SHARD_NAME_BYTES], struct sheaf_error *err)
{
    return shard_name(name, o->setup, o->prefix, shard->number,
                      o->first_shard + o->shard_counts[shard->split], err);
}

/* Of most samples: a header or two, padding, and names. */
#define SAMPLE_MORE_BYTES 4096u

uint64_t output_shard_bytes(const struct plan_shard *shard)
{
    return shard->payload_bytes + SAMPLE_MORE_BYTES * shard->sample_count;
}

int output_open_shard(const struct output *o, const struct plan_shard *shard,
                      struct part_memory *memory, struct shard_writer **writer,
                      struct sheaf_error *err)
{
    char name[SHARD_NAME_BYTES];
    int code = output_shard_name(o, shard, name, err);

    if (code == SHEAF_OK)
        code = shard_writer_open(writer, o->setup, o->directories[shard->split], name, memory,
                                 output_shard_bytes(shard), err);
    return code;
}

static int hash_object(struct store_object *object, void *buffer, XXH3_state_t *state,
                       struct sheaf_error *err)
{
    int code = SHEAF_OK;

    XXH3_128bits_reset(state);
    for (uint64_t at = 0; at < object->bytes && code == SHEAF_OK;) {
        const size_t size = (size_t)MIN(object->bytes - at, CHECK_BYTES);

        code = store_read(object, at, buffer, size, err);
        if (code == SHEAF_OK)
            XXH3_128bits_update(state, buffer, size);
        at += size;
    }
    return code;
}

/* What a file that is there, but another one, makes opening and reading say. */
static bool is_another(int code)
{
    return code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_ARGUMENT ||
           code == SHEAF_ERR_TRUNCATED || code == SHEAF_ERR_CHANGED;
}

/* *has: an object is there with this size and hash. */
static int check_object(const char *url, uint64_t bytes, const char *hash, bool *has,
                        struct sheaf_error *err)
{
    XXH3_state_t *state = XXH3_createState();
    struct store_object *object = NULL;
    void *buffer = malloc(CHECK_BYTES);
    char found[HASH_TEXT_BYTES] = "";
    int code = state == NULL || buffer == NULL ? err_memory(err, CHECK_BYTES)
                                               : store_open(url, &object, err);

    if (code == SHEAF_OK && !object->is_stream && object->bytes == bytes) {
        code = hash_object(object, buffer, state, err);
        hash_text(XXH3_128bits_digest(state), found);
    }
    *has = code == SHEAF_OK && strncmp(found, hash, HASH_TEXT_BYTES - 1) == 0;
    store_close(object);
    XXH3_freeState(state);
    free(buffer);
    return is_another(code) ? SHEAF_OK : code;
}

static int check_file(const char *directory, const char *name, uint64_t bytes, const char *hash,
                      bool *has, struct sheaf_error *err)
{
    char *url = store_join(directory, name);
    const int code = url == NULL ? err_memory(err, strlen(name))
                                 : check_object(url, bytes, hash, has, err);

    free(url);
    return code;
}

int output_check_shard(const struct output *o, uint32_t split, const struct journal_entry *entry,
                       bool *intact, struct sheaf_error *err)
{
    const char *directory = o->directories[split];
    const char *at = (const char *)entry->sides.data, *end = at + entry->sides.size;
    char name[SHARD_NAME_BYTES], hash[HASH_TEXT_BYTES];
    uint64_t bytes;
    int code = SHEAF_OK;

    *intact = true;
    while (at < end && *intact && code == SHEAF_OK) {
        *intact = journal_take_side(&at, end, name, &bytes, hash);
        if (*intact)
            code = check_file(directory, name, bytes, hash, intact, err);
    }
    if (code == SHEAF_OK && *intact)
        code = check_file(directory, entry->facts.name, entry->facts.bytes, entry->facts.xxh3,
                          intact, err);
    return code;
}

bool output_is_intact(const struct output *o, uint32_t split, const struct journal_entry *entry)
{
    bool intact;

    return output_check_shard(o, split, entry, &intact, NULL) == SHEAF_OK && intact;
}

uint64_t output_entry_sum(const struct journal_entry *entry)
{
    return XXH3_64bits_withSeed(entry->section.data, entry->section.size,
                                XXH3_64bits(entry->facts.xxh3, sizeof(entry->facts.xxh3)));
}

/* ---- The end --------------------------------------------------------------------------------- */

static int sweep(const char *directory, struct sheaf_error *err)
{
    char *url = store_join(directory, MANIFEST_NAME);
    const int code = url == NULL ? err_memory(err, strlen(directory)) : store_sweep(url, err);

    free(url);
    return code;
}

int output_sweep(const struct output *o, struct sheaf_error *err)
{
    int code = sweep(o->dest, err);

    for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK; i++)
        code = sweep(o->directories[i], err);
    return code;
}

int output_end(const struct output *o, struct sheaf_error *err)
{
    const int code = output_clean_lost(o, err);

    return code == SHEAF_OK ? journal_clear(&o->journal, err) : code;
}
