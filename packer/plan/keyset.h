/* SPDX-License-Identifier: MIT
 *
 * A set of keys, kept as XXH3-128 hashes: 16 bytes each, in a table at most 3/4 full. */
#ifndef PACKER_PLAN_KEYSET_H
#define PACKER_PLAN_KEYSET_H

#include <stdbool.h>
#include <stddef.h>
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
void keyset_free(struct keyset *set);

#endif
