/* SPDX-License-Identifier: MIT
 *
 * Decides when a network transfer has stalled. The functions have no side effects: the clock is an
 * argument.
 *
 * A transfer may be silent for `limit_ns` in all; this is its allowance. Passing time uses the
 * allowance up, and each byte that arrives restores a fraction of it, 1 / `least_bytes`. When the
 * allowance is used up, the transfer has stalled. So a transfer that stops is noticed `limit_ns`
 * after its last byte, and a server that sends very slowly is noticed as well. */
#ifndef STORE_STALL_H
#define STORE_STALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct stall {
    uint64_t limit_ns;          /* 0: the transfer never stalls */
    /* The number of bytes in `limit_ns` that a transfer must move in order not to stall; at
     * least 1. */
    uint64_t least_bytes;
    /* The time at which the transfer will have stalled if no more bytes move. */
    uint64_t at_ns;
    /* The number of bytes that have moved since `at_ns` was computed. The caller adds to it. */
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
