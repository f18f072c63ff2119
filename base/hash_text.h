/* SPDX-License-Identifier: MIT
 *
 * Converts an XXH3-128 hash to hexadecimal digits, highest digit first (XXH's canonical order).
 * Also computes a running hash over several byte strings. */
#ifndef BASE_HASH_TEXT_H
#define BASE_HASH_TEXT_H

#include <endian.h>
#include <stdio.h>
#include <xxhash.h>

#define HASH_TEXT_BYTES 33      /* including the NUL */

static inline void hash_text(XXH128_hash_t hash, char text[HASH_TEXT_BYTES])
{
    snprintf(text, HASH_TEXT_BYTES, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
}

/* Adds a byte string to a running hash. The new value of *sum is the hash of two hashes: the old
 * *sum and the hash of the byte string. */
static inline void hash_add(XXH128_hash_t *sum, const void *data, size_t size)
{
    const XXH128_hash_t part = XXH3_128bits(data, size);
    const uint64_t both[] = { htole64(sum->low64), htole64(sum->high64), htole64(part.low64),
                              htole64(part.high64) };

    *sum = XXH3_128bits(both, sizeof(both));
}

#endif
