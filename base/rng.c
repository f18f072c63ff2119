/* SPDX-License-Identifier: MIT
 *
 * Seeding of the generator. */
#include "base/rng.h"

#include <xxhash.h>

#include "base/bytes.h"

void rng_seed(struct rng *rng, enum rng_purpose purpose, uint64_t seed, uint64_t epoch,
              uint64_t lane)
{
    const uint64_t words[4] = { htole64(purpose), htole64(seed), htole64(epoch), htole64(lane) };

    for (unsigned i = 0; i < 4; i++)
        rng->s[i] = XXH3_64bits_withSeed(words, sizeof(words), i);
}
