/* SPDX-License-Identifier: MIT
 *
 * Decides when a transfer has stalled. Pure: the clock is an argument.
 *
 * A transfer may be silent for `limit_ns`, and each byte that moves gives back a `least_bytes`th of
 * that time. When the time is used up, the transfer has stalled. So a stall is noticed `limit_ns`
 * after the last byte, and a server that sends very slowly is noticed as well as one that never
 * responds. */
#ifndef STORE_STALL_H
#define STORE_STALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct stall {
    uint64_t limit_ns;          /* 0: the transfer never stalls */
    uint64_t least_bytes;       /* bytes per limit_ns that keep the transfer alive; at least 1 */
    uint64_t at_ns;             /* when the time is used up if no more bytes move */
    uint64_t moved_bytes;       /* bytes moved since `at_ns` was computed; the caller adds to it */
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
