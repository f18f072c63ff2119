/* SPDX-License-Identifier: MIT
 *
 * Makes random inputs for tests. */
#include "tests/common_random.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/bytes.h"

void random_start(struct rng *rng)
{
    const char *text = getenv("SEED");
    const uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : (uint64_t)time(NULL);

    printf("SEED=%llu\n", (unsigned long long)seed);
    rng_seed(rng, RNG_SHARDS, seed, 0, 0);
}

void random_bytes(struct rng *rng, void *data, size_t size)
{
    uint8_t *p = data;

    for (size_t i = 0; i < size; i++)
        p[i] = (uint8_t)(rng_next(rng) >> 56);
}

void random_fill(void *data, size_t size)
{
    struct rng rng;

    rng_seed(&rng, RNG_LANE, 1, 0, 0);
    random_bytes(&rng, data, size);
}

void random_text(struct rng *rng, void *data, size_t size)
{
    static const char *const words[] = { "shard ", "sample ", "lane ", "of ", "the ", "a\n" };
    char *p = data;

    while (size > 0) {
        const char *word = words[rng_below(rng, COUNT_OF(words))];
        const size_t part = MIN(strlen(word), size);

        memcpy(p, word, part);
        p += part;
        size -= part;
    }
}
