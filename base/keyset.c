/* SPDX-License-Identifier: MIT
 *
 * Open addressing, doubled as it fills. */
#include "base/keyset.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

/* Returns `hash`, or 1 if `hash` is 0, because a 0 marks an empty position of the hash table. */
static XXH128_hash_t not_zero(XXH128_hash_t hash)
{
    if (hash.low64 == 0 && hash.high64 == 0)
        hash.low64 = 1;
    return hash;
}

static XXH128_hash_t keyset_hash_of(const char *key)
{
    return not_zero(XXH3_128bits(key, strlen(key)));
}

static XXH128_hash_t widen(uint64_t hash)
{
    return not_zero((XXH128_hash_t){ .low64 = hash });
}

/* Returns the position of the hash in the hash table. If the set does not have the hash, returns
 * the empty position where it must be added. */
static XXH128_hash_t *keyset_find(const struct keyset *set, XXH128_hash_t hash)
{
    const size_t mask = set->slot_count - 1;
    size_t at = (size_t)hash.low64 & mask;

    for (;; at = (at + 1) & mask) {
        XXH128_hash_t *slot = &set->slots[at];

        if ((slot->low64 == 0 && slot->high64 == 0) || XXH128_isEqual(*slot, hash))
            return slot;
    }
}

static int keyset_grow(struct keyset *set, struct sheaf_error *err)
{
    struct keyset grown = { .slot_count = MAX(2 * set->slot_count, (size_t)1024),
                            .count = set->count };

    grown.slots = calloc(grown.slot_count, sizeof(grown.slots[0]));
    if (grown.slots == NULL)
        return err_memory(err, grown.slot_count * sizeof(grown.slots[0]));
    for (size_t i = 0; i < set->slot_count; i++)
        if (set->slots[i].low64 != 0 || set->slots[i].high64 != 0)
            *keyset_find(&grown, set->slots[i]) = set->slots[i];
    free(set->slots);
    *set = grown;
    return SHEAF_OK;
}

bool keyset_has(const struct keyset *set, const char *key)
{
    const XXH128_hash_t hash = keyset_hash_of(key);

    return set->slot_count != 0 && XXH128_isEqual(*keyset_find(set, hash), hash);
}

bool keyset_has_hash(const struct keyset *set, uint64_t hash)
{
    const XXH128_hash_t wide = widen(hash);

    return set->slot_count != 0 && XXH128_isEqual(*keyset_find(set, wide), wide);
}

int keyset_refuse(const char *key, struct sheaf_error *err)
{
    return err_because(err, err_set(err, SHEAF_ERR_EXISTS, "%s: a sample with this key is already "
                                    "packed", key), SHEAF_REASON_REPEATED_KEY);
}

static int keyset_make_room(struct keyset *set, struct sheaf_error *err)
{
    return set->count < set->slot_count / 4 * 3 ? SHEAF_OK : keyset_grow(set, err);
}

int keyset_check(struct keyset *set, const char *key, struct sheaf_error *err)
{
    const int code = keyset_make_room(set, err);

    return code == SHEAF_OK && keyset_has(set, key) ? keyset_refuse(key, err) : code;
}

int keyset_add_hash(struct keyset *set, uint64_t hash, struct sheaf_error *err)
{
    const int code = keyset_make_room(set, err);

    if (code == SHEAF_OK) {
        *keyset_find(set, widen(hash)) = widen(hash);
        set->count++;
    }
    return code;
}

void keyset_add(struct keyset *set, const char *key)
{
    const XXH128_hash_t hash = keyset_hash_of(key);

    *keyset_find(set, hash) = hash;
    set->count++;
}

void keyset_free(struct keyset *set)
{
    free(set->slots);
    *set = (struct keyset){ 0 };
}
