/* SPDX-License-Identifier: MIT
 *
 * A memory budget: a hard ceiling on the bytes that one reader or packer holds.
 * 0 <= used <= peak <= limit.  Not thread-safe: it belongs to the thread that plans the work,
 * which takes the bytes before it hands a job out and gives them back when the job is consumed.
 *
 * What is read ahead must not take the memory that the next step needs.  So a part of the budget
 * can be reserved, for those who take and give it by name:
 *
 *     0         used - reserve_used        limit - reserve               limit
 *     | the others' .................... | their room | reserved: ........... |   */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget {
    uint64_t limit;
    uint64_t used;
    uint64_t peak;
    uint64_t reserve;           /* of the limit */
    uint64_t reserve_used;      /* of `used`, what was taken as reserved */
};

/* What budget_take may take now. */
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

/* Takes `bytes` if they fit; false, and nothing taken, if they do not. */
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

/* The same for what is reserved. */
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

/* What was taken as reserved no longer is, if there is room for it elsewhere. */
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
