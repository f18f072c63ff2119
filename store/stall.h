/* SPDX-License-Identifier: MIT
 *
 * Decides whether a network transfer has stalled. The clock is an argument, so the functions have
 * no side effects.
 *
 * Each transfer has an allowance of time, at first limit_ns, which decreases while time passes.
 * Each byte that arrives adds limit_ns / least_bytes to the allowance, up to limit_ns. When the
 * allowance is used up, the transfer has stalled. So a transfer that stops is noticed limit_ns
 * after its last byte, and a very slow one is noticed as well. */
#ifndef STORE_STALL_H
#define STORE_STALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct stall {
    uint64_t limit_ns;          /* 0: the transfer never stalls */
    /* number of bytes that must move in limit_ns, so that the transfer does not count as stalled;
     * at least 1 */
    uint64_t least_bytes;
    /* time at which the transfer will count as stalled if no more bytes move until then */
    uint64_t at_ns;
    /* number of bytes that have moved since at_ns was computed; the caller adds to it */
    uint64_t moved_bytes;
};

static inline void stall_begin(struct stall *stall, uint64_t now_ns)
{
    stall->at_ns = now_ns + stall->limit_ns;
    stall->moved_bytes = 0;
}

static inline bool stall_is_over(struct stall *stall, uint64_t now_ns)
{
    const uint64_t bytes = MIN(stall->moved_bytes, stall->least_bytes);

    if (stall->limit_ns == 0)
        return false;
    if (bytes != 0)
        stall->at_ns = MIN(now_ns + stall->limit_ns,
                           stall->at_ns + stall->limit_ns / stall->least_bytes * bytes);
    stall->moved_bytes = 0;
    return now_ns >= stall->at_ns;
}

#endif
