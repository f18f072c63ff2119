/* SPDX-License-Identifier: MIT
 *
 * XXH3-64 of a few numbers; see sample_seed.h. */
#include "base/sample_seed.h"

#include <endian.h>
#include <xxhash.h>

uint64_t sample_seed_source(uint64_t samples, uint64_t before, uint32_t host, uint32_t hosts)
{
    const uint64_t words[] = { htole64(samples), htole64(before), htole64(host), htole64(hosts) };

    return XXH3_64bits(words, sizeof(words));
}

uint64_t sample_seed(uint64_t seed, uint64_t source, uint64_t source_epoch, uint64_t number)
{
    const struct {
        char version[8];
        uint64_t words[4];
    } message = {
        "pixels1", { htole64(seed), htole64(source), htole64(source_epoch), htole64(number) },
    };

    return XXH3_64bits(&message, sizeof(message));
}
