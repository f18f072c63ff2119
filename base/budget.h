/* SPDX-License-Identifier: MIT
 *
 * A memory budget: a hard ceiling on the bytes that one reader or packer holds.
 * 0 <= used <= peak <= limit.  Not thread-safe: it belongs to the thread that plans the work,
 * which takes the bytes before it hands a job out and gives them back when the job is consumed. */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget {
    uint64_t limit;
    uint64_t used;
    uint64_t peak;
};

/* Takes `bytes` if they fit; false, and nothing taken, if they do not. */
static inline bool budget_take(struct budget *b, uint64_t bytes)
{
    if (bytes > b->limit - b->used)
        return false;
    b->used += bytes;
    if (b->used > b->peak)
        b->peak = b->used;
    return true;
}

static inline void budget_give(struct budget *b, uint64_t bytes)
{
    b->used -= bytes;
}

#endif
