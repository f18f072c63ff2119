/* SPDX-License-Identifier: MIT
 *
 * The random generator that determines the order of samples: xoshiro256** (Blackman and Vigna). It
 * is seeded with a hash of several numbers, so that neighbouring seeds or epochs get unrelated
 * random numbers. reader/ORDER.md specifies the generator. Its results must never change. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

enum rng_purpose { RNG_SHARDS = 1, RNG_LANE = 2, RNG_FEED = 3, RNG_PIECES = 4, RNG_PHASE = 5,
                   RNG_PIXELS = 6 };

struct rng { uint64_t s[4]; };

/* Seeds the generator from four values: the purpose and three numbers. The four values form an
 * array of little-endian 64-bit words. Word i of the generator's state is the XXH3-64 hash of this
 * array with the seed i. */
void rng_seed(struct rng *rng, enum rng_purpose purpose, uint64_t seed, uint64_t epoch,
              uint64_t lane);

static inline uint64_t rng_rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

static inline uint64_t rng_next(struct rng *rng)
{
    uint64_t *s = rng->s;
    const uint64_t result = rng_rotate(s[1] * 5, 7) * 9;
    const uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rng_rotate(s[3], 45);
    return result;
}

/* Returns a uniform random number from 0 to n - 1. `n` must be greater than 0. The result is the
 * high half of a 128-bit product. A few products are rejected, and another random number is drawn,
 * because otherwise some results would be more likely than others (Lemire 2019). */
static inline uint64_t rng_below(struct rng *rng, uint64_t n)
{
    unsigned __int128 product = (unsigned __int128)rng_next(rng) * n;

    if ((uint64_t)product < n) {
        const uint64_t threshold = -n % n;

        while ((uint64_t)product < threshold)
            product = (unsigned __int128)rng_next(rng) * n;
    }
    return (uint64_t)(product >> 64);
}

#endif
