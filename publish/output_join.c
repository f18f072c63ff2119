/* SPDX-License-Identifier: MIT
 *
 * Lets several processes pack the parts of one plan at one destination. Two processes may even pack
 * the same part at the same time.
 *
 * Each process joins the run that is named in the claim, the file that says which run packs here
 * (see journal.h). The process then finds out which shards are already finished. output_shard.c
 * publishes the other shards. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "publish/destination.h"
#include "store/store.h"

#define PARTS_NAME  "parts"
#define PARTS_BYTES 32

/* ---- Joining --------------------------------------------------------------------------------- */

int output_parts(const struct output *o, uint32_t *parts, struct sheaf_error *err)
{
    char *url = store_join(o->journal.directory, PARTS_NAME), *text = NULL;
    unsigned long count = 0;
    size_t size;
    int code = url == NULL ? err_memory(err, strlen(o->journal.directory))
                           : store_get(url, PARTS_BYTES, &text, &size, err);

    if (code == SHEAF_OK)
        count = strtoul(text, NULL, 10);
    *parts = count > UINT32_MAX ? 0 : (uint32_t)count;
    free(text);
    free(url);
    return code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_LIMIT ? SHEAF_OK : code;
}

static int put_parts(const struct output *o, uint32_t parts, struct sheaf_error *err)
{
    char *url = store_join(o->journal.directory, PARTS_NAME), text[PARTS_BYTES];
    uint32_t noted = 0;
    int code = url == NULL ? err_memory(err, strlen(o->journal.directory))
                           : output_parts(o, &noted, err);

    snprintf(text, sizeof(text), "%u\n", parts);
    if (code == SHEAF_OK && noted != parts)
        code = store_put(url, text, strlen(text), err);
    free(url);
    return code;
}

int output_join(struct output *o, uint32_t parts, bool *finished, struct sheaf_error *err)
{
    int code = output_claim(o, ASK_JOIN, finished, err);

    if (code == SHEAF_ERR_CHANGED && err->reason == SHEAF_REASON_ALTERED)
        code = err_because(err, code, SHEAF_REASON_LOST_SHARDS);
    return code == SHEAF_OK && !*finished && parts != 0 ? put_parts(o, parts, err) : code;
}

/* ---- Finding shards -------------------------------------------------------------------------- */

/* The type of a function that finds the size and the stamp of a file. The stamp is a number that is
 * different if the file was replaced. Returns SHEAF_ERR_NOT_FOUND if there is no such file. In this
 * case *err may stay without a message. */
typedef int find_fn(const void *context, uint32_t split, const char *name, uint64_t *bytes,
                    uint64_t *stamp, struct sheaf_error *err);

uint64_t output_stamp_add(uint64_t combined, uint64_t stamp)
{
    const uint64_t stored = htole64(stamp);

    return combined == 0 || stamp == 0 ? 0
                                       : XXH3_64bits_withSeed(&stored, sizeof(stored), combined);
}

/* Compares the sizes of a shard and the files beside it with the sizes in its journal entry (the
 * stored facts about the shard), and sets *state. Sets *combined to the stamp of all these files, a
 * number that changes if one of the files is replaced. If the store does not answer, returns an
 * error, because it is then unknown whether a file is missing. */
static int compare_shard(find_fn *find, const void *context, uint32_t split,
                         const struct journal_entry *entry, enum output_shard_state *state,
                         uint64_t *combined, struct sheaf_error *err)
{
    const char *at = (const char *)entry->sides.data, *end = at + entry->sides.size;
    char name[SHARD_NAME_BYTES], hash[HASH_TEXT_BYTES];
    uint64_t stamp, found, bytes = entry->facts.bytes;
    int code = find(context, split, entry->facts.name, &found, combined, err);

    while (code == SHEAF_OK && found == bytes && at < end) {
        if (!journal_take_side(&at, end, name, &bytes, hash)) {
            *state = SHARD_ALTERED;
            return SHEAF_OK;
        }
        code = find(context, split, name, &found, &stamp, err);
        if (code == SHEAF_OK)
            *combined = output_stamp_add(*combined, stamp);
    }
    *state = code != SHEAF_OK ? SHARD_MISSING : found == bytes ? SHARD_THERE : SHARD_ALTERED;
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

static bool output_join_is_known(const struct journal_entry *entry, uint64_t stamp)
{
    return stamp != 0 && entry->stamp == stamp;
}

static int find_stored(const void *context, uint32_t split, const char *name, uint64_t *bytes,
                       uint64_t *stamp, struct sheaf_error *err)
{
    const struct output *o = context;
    char *url = store_join(o->directories[split], name);
    const int code = url == NULL ? err_memory(err, strlen(name))
                                 : store_identify(url, bytes, stamp, err);

    free(url);
    return code;
}

int output_stamp(const struct output *o, uint32_t split, const struct journal_entry *entry,
                 uint64_t *stamp, struct sheaf_error *err)
{
    enum output_shard_state state;
    const int code = compare_shard(find_stored, o, split, entry, &state, stamp, err);

    if (code != SHEAF_OK || state != SHARD_THERE)
        *stamp = 0;
    return code;
}

/* Returns whether a shard and the files beside it have stayed the same while they were read. If
 * they have not, another run has replaced the files meanwhile, and the bytes that were read prove
 * nothing. */
static bool is_still(const struct output *o, uint32_t split, const struct journal_entry *entry,
                     uint64_t stamp)
{
    uint64_t now;

    return output_stamp(o, split, entry, &now, NULL) == SHEAF_OK && now == stamp;
}

int output_find_shard(const struct output *o, uint32_t split, const char *name,
                      struct journal_entry *entry, bool *found, uint64_t *stamp,
                      struct sheaf_error *err)
{
    enum output_shard_state state = SHARD_MISSING;
    int code = journal_get(&o->journal, o->journal.plan.splits[split], name, entry, err);

    *stamp = 0;
    if (code == SHEAF_OK)
        code = compare_shard(find_stored, o, split, entry, &state, stamp, err);
    *found = code == SHEAF_OK && state == SHARD_THERE &&
             (output_join_is_known(entry, *stamp) ||
              (output_is_intact(o, split, entry) && is_still(o, split, entry, *stamp)));
    return code == SHEAF_END ? SHEAF_OK : code;
}

/* ---- Listing --------------------------------------------------------------------------------- */

struct listed {
    char *name;
    uint64_t bytes, stamp;
};

/* The names of one directory, in byte order. */
struct listed_names {
    struct listed *items;
    size_t count, capacity;
    struct sheaf_error *err;
};

struct output_listing {
    struct listed_names splits[SPLIT_LIMIT];
    struct listed_names journal;
};

static int keep_name(void *context, const struct store_entry *entry)
{
    struct listed_names *all = context;

    if (all->count == all->capacity) {
        const size_t capacity = MAX(2 * all->capacity, (size_t)64);
        struct listed *grown = reallocarray(all->items, capacity, sizeof(*grown));

        if (grown == NULL)
            return err_memory(all->err, capacity * sizeof(*grown));
        all->items = grown;
        all->capacity = capacity;
    }
    all->items[all->count] = (struct listed){ strdup(entry->name), entry->bytes,
                                                entry->stamp };
    if (all->items[all->count].name == NULL)
        return err_memory(all->err, strlen(entry->name));
    all->count++;
    return SHEAF_OK;
}

static int output_join_list_names(const char *directory, struct listed_names *all,
                                  struct sheaf_error *err)
{
    int code;

    all->err = err;
    code = store_list(directory, keep_name, all, err);
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

static void names_free(struct listed_names *all)
{
    for (size_t i = 0; i < all->count; i++)
        free(all->items[i].name);
    free(all->items);
}

int output_list(const struct output *o, struct output_listing **listing, struct sheaf_error *err)
{
    struct output_listing *l = calloc(1, sizeof(*l));
    int code;

    if (l == NULL)
        return err_memory(err, sizeof(*l));
    code = output_join_list_names(o->journal.directory, &l->journal, err);
    for (uint32_t s = 0; s < o->split_count && code == SHEAF_OK; s++)
        code = output_join_list_names(o->directories[s], &l->splits[s], err);
    if (code == SHEAF_OK)
        *listing = l;
    else
        output_listing_free(l);
    return code;
}

void output_listing_free(struct output_listing *l)
{
    if (l == NULL)
        return;
    names_free(&l->journal);
    for (uint32_t s = 0; s < SPLIT_LIMIT; s++)
        names_free(&l->splits[s]);
    free(l);
}

static int output_join_compare_names(const void *key, const void *item)
{
    return strcmp(key, ((const struct listed *)item)->name);
}

static const struct listed *output_join_find_name(const struct listed_names *all, const char *name)
{
    return all->count == 0 ? NULL : bsearch(name, all->items, all->count, sizeof(all->items[0]),
                                            output_join_compare_names);
}

static int find_listed(const void *context, uint32_t split, const char *name, uint64_t *bytes,
                       uint64_t *stamp, struct sheaf_error *err)
{
    const struct output_listing *l = context;
    const struct listed *found = output_join_find_name(&l->splits[split], name);

    (void)err;
    *stamp = found == NULL ? 0 : found->stamp;
    *bytes = found == NULL ? 0 : found->bytes;
    return found == NULL ? SHEAF_ERR_NOT_FOUND : SHEAF_OK;
}

bool output_listing_has_size(const struct output_listing *l, uint32_t split, const char *name,
                             uint64_t bytes)
{
    const struct listed *found = output_join_find_name(&l->splits[split], name);

    return found != NULL && found->bytes == bytes;
}

bool output_listing_has(const struct output_listing *l, uint32_t split, const char *name)
{
    return output_join_find_name(&l->splits[split], name) != NULL;
}

int output_listing_check(const struct output_listing *l, const struct output *o, uint32_t split,
                         const struct journal_entry *entry, enum output_shard_state *state,
                         struct sheaf_error *err)
{
    uint64_t stamp;
    bool intact;
    int code = compare_shard(find_listed, l, split, entry, state, &stamp, err);

    if (code != SHEAF_OK || *state != SHARD_THERE || output_join_is_known(entry, stamp))
        return code;
    code = output_check_shard(o, split, entry, &intact, err);
    *state = intact ? SHARD_THERE : SHARD_ALTERED;
    return code;
}

bool output_listing_is_known(const struct output_listing *l, uint32_t split,
                             const struct journal_entry *entry)
{
    enum output_shard_state state;
    uint64_t stamp;

    return compare_shard(find_listed, l, split, entry, &state, &stamp, NULL) == SHEAF_OK &&
           state == SHARD_THERE && output_join_is_known(entry, stamp);
}

int output_listing_has_entry(const struct output_listing *l, const struct output *o,
                             uint32_t split, const char *name, bool *has, struct sheaf_error *err)
{
    char *entry;
    const int code = journal_entry_name(&o->journal, o->journal.plan.splits[split], name, &entry,
                                        err);

    if (code != SHEAF_OK)
        return code;
    *has = output_join_find_name(&l->journal, entry) != NULL;
    free(entry);
    return SHEAF_OK;
}
