/* SPDX-License-Identifier: MIT
 *
 * A memory budget: a hard limit for the number of bytes that one reader or packer holds. Code takes
 * bytes from the budget before it allocates memory, and gives them back when it frees the memory.
 *
 * `reserve` bytes of the limit are kept for the next step of the work. Only budget_take_reserved
 * may take them. Without this reserve, jobs that read ahead could take all memory, and the next
 * step could not run.
 *
 * A budget has no lock. If several threads use a budget, a lock must guard it, as in
 * store/part_memory.c and image/image_memory.c. */
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

/* Returns the number of bytes that budget_take can take at the moment. The reserve, which is kept
 * for the next step of the work, is not included. */
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

/* Takes `bytes` bytes from the budget and returns true. If there is not enough room, takes nothing
 * and returns false. */
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

/* Takes `bytes` bytes from the budget like budget_take, but may also use the reserve, which is kept
 * for the next step of the work. Returns true, or takes nothing and returns false if there is not
 * enough room. */
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

/* Moves `bytes` bytes of memory that are in use from the reserve to the rest of the budget, so that
 * the reserve has room again. They were taken with budget_take_reserved. Returns false and changes
 * nothing if the budget has too little room outside of the reserve. */
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
