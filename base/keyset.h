/* SPDX-License-Identifier: MIT
 *
 * A set of keys. A key is kept as its XXH3-128 hash of 16 bytes, in a table that is at most 3/4
 * full. */
#ifndef BASE_KEYSET_H
#define BASE_KEYSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

#include "sheaf.h"

/* Zero-initialised. */
struct keyset {
    XXH128_hash_t *slots;       /* all zeros: empty */
    size_t slot_count;          /* a power of two, or 0 */
    size_t count;
};

bool keyset_has(const struct keyset *set, const char *key);
/* SHEAF_ERR_EXISTS if the key is there already; SHEAF_ERR_MEMORY. */
int keyset_check(struct keyset *set, const char *key, struct sheaf_error *err);
/* Adds a key that keyset_check() has just passed. */
void keyset_add(struct keyset *set, const char *key);
/* Like keyset_has, and keyset_check followed by keyset_add, for a key of which only a hash of 64
 * bits is known (key_hash). */
bool keyset_has_hash(const struct keyset *set, uint64_t hash);
int keyset_add_hash(struct keyset *set, uint64_t hash, struct sheaf_error *err);
/* Returns SHEAF_ERR_EXISTS, with a message that the set contains the key. */
int keyset_refuse(const char *key, struct sheaf_error *err);
void keyset_free(struct keyset *set);

#endif
