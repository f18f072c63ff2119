/* SPDX-License-Identifier: MIT
 *
 * A memory budget: a hard ceiling on the bytes that one reader or packer holds, with 0 <= used <=
 * peak <= limit. A budget is not thread-safe. Only the thread that plans the work uses it: this
 * thread takes bytes before it starts a job, and gives the bytes back after it has consumed the
 * job's result.
 *
 * Reading ahead must not take the memory that the next step needs. So a part of the budget can be
 * reserved. Only budget_take_reserved takes from the reserved part:
 *
 *     0         used - reserve_used        limit - reserve               limit
 *     | taken by others .......... | free for others | reserved: ......... | */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget {
    uint64_t limit;
    uint64_t used;
    uint64_t peak;
    uint64_t reserve;           /* bytes of the limit that are reserved */
    uint64_t reserve_used;      /* bytes of `used` that were taken as reserved */
};

/* Returns the number of bytes that budget_take can take now. */
static inline uint64_t budget_room(const struct budget *b)
{
    const uint64_t left = b->limit - b->used;
    const uint64_t kept = b->reserve > b->reserve_used ? b->reserve - b->reserve_used : 0;

    return left - (kept < left ? kept : left);
}

static inline void budget_add(struct budget *b, uint64_t bytes)
{
    b->used += bytes;
    if (b->used > b->peak)
        b->peak = b->used;
}

/* Takes `bytes` and returns true if they fit. Otherwise takes nothing and returns false. */
static inline bool budget_take(struct budget *b, uint64_t bytes)
{
    if (bytes > budget_room(b))
        return false;
    budget_add(b, bytes);
    return true;
}

static inline void budget_give(struct budget *b, uint64_t bytes)
{
    b->used -= bytes;
}

/* Takes `bytes` and returns true if they fit into the budget. Unlike budget_take, this function may
 * also use the reserved part of the budget. */
static inline bool budget_take_reserved(struct budget *b, uint64_t bytes)
{
    if (bytes > b->limit - b->used)
        return false;
    budget_add(b, bytes);
    b->reserve_used += bytes;
    return true;
}

static inline void budget_give_reserved(struct budget *b, uint64_t bytes)
{
    b->used -= bytes;
    b->reserve_used -= bytes;
}

/* Counts `bytes` that budget_take_reserved took from the reserved part as taken by budget_take
 * instead. Does so only if the part that is not reserved has room for them. Returns whether it had
 * room. */
static inline bool budget_unreserve(struct budget *b, uint64_t bytes)
{
    struct budget after = *b;

    after.used -= bytes;
    after.reserve_used -= bytes;
    if (bytes > budget_room(&after))
        return false;
    b->reserve_used -= bytes;
    return true;
}

#endif
