/* SPDX-License-Identifier: MIT
 *
 * Opens the output of a run, names its shards, and checks finished ones. */
#include "publish/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/xxh3_wide.h"
#include "store/store.h"

/* ---- Life ------------------------------------------------------------------------------------ */

/* Number of bytes that are read at once to check a finished shard. */
#define CHECK_BYTES ((size_t)1 << 20)

/* Text that replaces the plan hash in the journal of a run that has no plan, because it packs the
 * samples of a program. For other runs, the plan hash is a hash of the packing options and of the
 * names and sizes of the source files. */
#define NO_PLAN "00000000000000000000000000000000"

int output_add_split(struct output *o, const char *name, uint64_t shard_count,
                     struct sheaf_error *err)
{
    const uint32_t i = o->split_count;

    snprintf(o->journal.plan.splits[i], SPLIT_NAME_BYTES, "%s", name);
    o->shard_counts[i] = shard_count;
    o->directories[i] = name[0] == '\0' ? strdup(o->dest) : store_join(o->dest, name);
    if (o->directories[i] == NULL)
        return err_memory(err, strlen(o->dest));
    o->journal.plan.split_count = ++o->split_count;
    return SHEAF_OK;
}

int output_open(struct output *o, const char *dest, const struct format_ops *format,
                const struct codec_ops *codec, const char *prefix, struct sheaf_error *err)
{
    int code;

    *o = (struct output){ .dest = dest, .format = format, .codec = codec, .prefix = prefix,
                          .lock = -1 };
    code = journal_open(&o->journal, dest, err);
    snprintf(o->plan_hash, PLAN_HASH_SIZE, "%s", NO_PLAN);
    snprintf(o->journal.plan.hash, PLAN_HASH_SIZE, "%s", NO_PLAN);
    snprintf(o->journal.plan.prefix, SHARD_NAME_BYTES, "%s", prefix);
    return code;
}

/* Keeps the directories that the run has made if another run has the lock of the destination. That
 * run is about to write there. */
static void leave_to_others(struct output *o)
{
    if (o->journal.made.count != 0 && o->lock < 0 &&
        store_lock(o->dest, false, &o->lock, NULL) == SHEAF_ERR_EXISTS)
        made_end(&o->journal.made, false);
}

void output_close(struct output *o)
{
    leave_to_others(o);
    for (uint32_t i = 0; i < o->split_count; i++)
        free(o->directories[i]);
    o->split_count = 0;
    journal_close(&o->journal);     /* while no other run can lock the destination */
    store_unlock(o->lock);
    o->lock = -1;
}

/* ---- Shards ---------------------------------------------------------------------------------- */

int output_shard_name(const struct output *o, uint32_t split, uint64_t number,
                      char name[SHARD_NAME_BYTES], struct sheaf_error *err)
{
    const uint64_t shard_count = o->first_shard + o->shard_counts[split];
    int digits = 6, size;

    if (o->names != NULL) {
        snprintf(name, SHARD_NAME_BYTES, "%s", o->names[number]);
        return SHEAF_OK;
    }
    for (uint64_t most = 1000000; shard_count > most; most *= 10)
        digits++;
    size = snprintf(name, SHARD_NAME_BYTES, "%s-%0*llu%s%s", o->prefix, digits,
                    (unsigned long long)number, o->format->suffix,
                    o->codec == NULL ? "" : o->codec->suffix);
    if (size >= SHARD_NAME_BYTES - 32)
        return err_set(err, SHEAF_ERR_ARGUMENT, "the prefix \"%.40s...\" is too long", o->prefix);
    return SHEAF_OK;
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

/* Returns whether the error `code` means that a file is missing or is not the expected file. `code`
 * comes from opening or reading the file. After any other error, it is unknown whether the file is
 * the expected one. */
static bool is_another(int code)
{
    return code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_UNSUPPORTED ||
           code == SHEAF_ERR_TRUNCATED || code == SHEAF_ERR_CHANGED;
}

/* Reads the object `url`, and sets *has to whether the object has the size `bytes` and the hash
 * `hash`. */
static int output_check_object(const char *url, uint64_t bytes, const char *hash, bool *has,
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

static int output_check_file(const char *directory, const char *name, uint64_t bytes,
                             const char *hash, bool *has, struct sheaf_error *err)
{
    char *url = store_join(directory, name);
    const int code = url == NULL ? err_memory(err, strlen(name))
                                 : output_check_object(url, bytes, hash, has, err);

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
            code = output_check_file(directory, name, bytes, hash, intact, err);
    }
    if (code == SHEAF_OK && *intact)
        code = output_check_file(directory, entry->facts.name, entry->facts.bytes,
                                 entry->facts.xxh3, intact, err);
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
