/* SPDX-License-Identifier: MIT
 *
 * A table of hashes with open addressing. */
#include "formats/key_seen.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"

/* Returns the address of the element of the hash table that holds `hash`. If the table does not
 * have the hash, returns the address of the empty element where it belongs. */
static uint64_t *key_seen_slot_of(uint64_t *slots, size_t capacity, uint64_t hash)
{
    size_t at = (size_t)hash & (capacity - 1);

    while (slots[at] != 0 && slots[at] != hash)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static int key_seen_grow(struct key_seen *seen, struct sheaf_error *err)
{
    const size_t capacity = MAX(2 * seen->capacity, (size_t)256);
    uint64_t *slots = calloc(capacity, sizeof(slots[0]));

    if (slots == NULL)
        return err_memory(err, capacity * sizeof(slots[0]));
    for (size_t i = 0; i < seen->capacity; i++)
        if (seen->slots[i] != 0)
            *key_seen_slot_of(slots, capacity, seen->slots[i]) = seen->slots[i];
    free(seen->slots);
    seen->slots = slots;
    seen->capacity = capacity;
    return SHEAF_OK;
}

int key_seen_add(struct key_seen *seen, const void *key, size_t size, struct sheaf_error *err)
{
    const uint64_t hash = MAX(XXH3_64bits(key, size), (uint64_t)1);
    uint64_t *slot;
    int code = 2 * seen->count >= seen->capacity ? key_seen_grow(seen, err) : SHEAF_OK;

    if (code != SHEAF_OK)
        return code;
    slot = key_seen_slot_of(seen->slots, seen->capacity, hash);
    if (*slot == hash) {
        seen->repeated++;
        if (seen->first == NULL)
            seen->first = strndup(key, size);
    } else if (seen->count < KEY_SEEN_MOST) {
        *slot = hash;
        seen->count++;
    }
    return SHEAF_OK;
}

void key_seen_free(struct key_seen *seen)
{
    free(seen->slots);
    free(seen->first);
    *seen = (struct key_seen){ .slots = NULL };
}
