/* SPDX-License-Identifier: MIT
 *
 * XXH3-128 as text: its canonical form, as hexadecimal digits. */
#ifndef BASE_HASH_TEXT_H
#define BASE_HASH_TEXT_H

#include <stdio.h>
#include <xxhash.h>

#define HASH_TEXT_BYTES 33      /* with its NUL */

static inline void hash_text(XXH128_hash_t hash, char text[HASH_TEXT_BYTES])
{
    snprintf(text, HASH_TEXT_BYTES, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
}

#endif
