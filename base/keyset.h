/* SPDX-License-Identifier: MIT
 *
 * A set of keys. For each key it stores only the XXH3-128 hash (16 bytes), in a hash table. At most
 * three quarters of the table's positions are used. */
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
/* Makes room for a key, so that keyset_add cannot fail. Returns SHEAF_ERR_EXISTS if the set already
 * has the key. */
int keyset_check(struct keyset *set, const char *key, struct sheaf_error *err);
/* Adds a key that keyset_check() has just passed. */
void keyset_add(struct keyset *set, const char *key);
/* keyset_has_hash and keyset_add_hash are for callers that know only the 64-bit hash of a key (see
 * key_hash). keyset_add_hash does not check whether the set already has the hash. keyset_has_hash
 * does not find keys that keyset_add has added, because keyset_add stores 128-bit hashes. */
bool keyset_has_hash(const struct keyset *set, uint64_t hash);
int keyset_add_hash(struct keyset *set, uint64_t hash, struct sheaf_error *err);
/* Sets and returns the error SHEAF_ERR_EXISTS. The message says that a sample with this key is
 * already packed. */
int keyset_refuse(const char *key, struct sheaf_error *err);
void keyset_free(struct keyset *set);

#endif
