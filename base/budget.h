/* SPDX-License-Identifier: MIT
 *
 * A memory budget: a hard ceiling on the bytes that one reader or packer holds. A budget is not
 * thread-safe. It is used by the thread that plans the work: this thread takes bytes before it
 * starts a job, and gives the bytes back after it has consumed the job's result. Otherwise, a lock
 * must guard it, as in store/part_memory.c.
 *
 * Reading ahead must not take the memory that the next step needs. So `reserve` bytes of the limit
 * can be reserved. budget_take_reserved may take any free byte of the limit. budget_take may take
 * only the free bytes that the reserved part does not need. */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget {
    uint64_t limit;
    uint64_t used;
    uint64_t peak;              /* the largest value of `used` so far */
    uint64_t reserve;           /* bytes of the limit that are reserved */
    uint64_t reserve_used;      /* bytes of `used` that budget_take_reserved took */
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

/* Moves `bytes`, which budget_take_reserved has taken, from the reserved part of the budget to the
 * other part. Returns false and moves nothing if the other part has no room for them. */
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
