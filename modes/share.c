/* SPDX-License-Identifier: MIT
 *
 * Divides the units of a source (objects, or groups of objects) among n hosts. Shuffles the units
 * (Fisher-Yates), and then gives each host every n-th unit. */
#include "modes/share.h"

#include "base/rng.h"

size_t share_size(const struct share *s, size_t count)
{
    return count / s->hosts + (s->host < count % s->hosts);
}

void share_order(const struct share *s, uint64_t epoch, uint32_t *order, size_t count)
{
    const size_t size = share_size(s, count);
    struct rng rng;

    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    if (s->shuffle) {
        rng_seed(&rng, RNG_FEED, s->seed, epoch, 0);
        for (size_t i = count; i > 1; i--) {
            const size_t k = (size_t)rng_below(&rng, i);
            const uint32_t unit = order[k];

            order[k] = order[i - 1];
            order[i - 1] = unit;
        }
    }
    for (size_t i = 0; i < size; i++)
        order[i] = order[s->host + i * s->hosts];
}
