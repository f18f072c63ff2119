/* SPDX-License-Identifier: MIT
 *
 * The heap of pieces; see heap.h.
 *
 *     base                                                          base + size
 *     | head | piece ... | head | free ............ | head | piece | end |  (reserved) ...
 *
 * A block is a head and what follows it.  Free blocks stand in lists by size: row r has the sizes
 * from 2^r up, in HEAP_SLOTS steps.  No two neighbours are both free. */
#include "base/heap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"

#define GRAIN      ((size_t)16)
#define LEAST      ((size_t)16)             /* bytes of a piece: room for the links of a free one */
#define STEP_LEAST ((size_t)64 << 10)       /* bytes that the heap grows by */
#define STEP_MOST  ((size_t)2 << 20)
#define RESERVED_MOST ((uint64_t)1 << 42)  /* addresses */
#define FREE       ((size_t)1)              /* in `size`, whose low bits are not needed; */
#define LENT       ((size_t)2)              /* it is lent, or was */

struct heap_block {
    struct heap_block *before;      /* the neighbour; NULL: it is the first */
    size_t size;                    /* bytes behind the head, and FREE or LENT */
    atomic_size_t users;            /* of a LENT one: the owner, and those it is lent to */
    /* The head ends here; of a free block only: */
    _Alignas(GRAIN) struct heap_block *next;
    struct heap_block *previous;
};

#define HEAD offsetof(struct heap_block, next)

static size_t size_of(const struct heap_block *b)
{
    return b->size & ~(FREE | LENT);
}

static bool is_free(const struct heap_block *b)
{
    return (b->size & FREE) != 0;
}

static struct heap_block *after(struct heap_block *b)
{
    return (struct heap_block *)(void *)((uint8_t *)b + HEAD + size_of(b));
}

/* ---- The lists ------------------------------------------------------------------------------ */

struct place {
    unsigned row, slot;
};

/* The list that a free block of this size stands in: its size is at least the list's. */
static struct place place_of(size_t size)
{
    const unsigned row = 63u - (unsigned)__builtin_clzll(size);

    return (struct place){ row, (unsigned)(size >> (row - 4)) & (HEAP_SLOTS - 1) };
}

static void insert(struct heap *h, struct heap_block *b)
{
    const struct place p = place_of(size_of(b));
    struct heap_block **list = &h->free[p.row][p.slot];

    b->size |= FREE;
    b->previous = NULL;
    b->next = *list;
    if (*list != NULL)
        (*list)->previous = b;
    *list = b;
    h->slots[p.row] |= 1u << p.slot;
    h->rows |= (uint64_t)1 << p.row;
}

static void withdraw(struct heap *h, struct heap_block *b)
{
    const struct place p = place_of(size_of(b));

    if (b->next != NULL)
        b->next->previous = b->previous;
    if (b->previous != NULL)
        b->previous->next = b->next;
    else
        h->free[p.row][p.slot] = b->next;
    if (h->free[p.row][p.slot] == NULL)
        h->slots[p.row] &= ~(1u << p.slot);
    if (h->slots[p.row] == 0)
        h->rows &= ~((uint64_t)1 << p.row);
    b->size &= ~FREE;
}

/* A free block of at least `size` bytes, without a search: any block of the first list whose
 * sizes are all large enough. */
static struct heap_block *find(struct heap *h, size_t size)
{
    const unsigned row = 63u - (unsigned)__builtin_clzll(size);
    const struct place p = place_of(size + ((size_t)1 << (row - 4)) - 1);
    uint32_t slots = h->slots[p.row] & (~0u << p.slot);
    uint64_t rows;

    if (slots != 0)
        return h->free[p.row][__builtin_ctz(slots)];
    rows = h->rows & (~(uint64_t)1 << p.row);
    if (rows == 0)
        return NULL;
    slots = h->slots[__builtin_ctzll(rows)];
    return h->free[__builtin_ctzll(rows)][__builtin_ctz(slots)];
}

/* One of its own list, where some are large enough and some are not. */
static struct heap_block *search(struct heap *h, size_t size)
{
    const struct place p = place_of(size);
    struct heap_block *b = h->free[p.row][p.slot];

    while (b != NULL && size_of(b) < size)
        b = b->next;
    return b;
}

/* ---- Growing -------------------------------------------------------------------------------- */

/* Makes the first `size` addresses memory, after `h->size` of them. */
static bool make_memory(struct heap *h, size_t size)
{
    if (h->given.base == NULL)
        return mprotect(h->base + h->size, size - h->size, PROT_READ | PROT_WRITE) == 0;
    return h->given.needed == NULL || h->given.needed(h->given.context, size) == 0;
}

/* Makes `extra` more bytes memory: one free block, with what is free before it.  NULL: there is
 * no room. */
static struct heap_block *extend(struct heap *h, size_t extra)
{
    const uint64_t most = MIN(h->most_bytes, h->reserved);
    struct heap_block *b;

    if (extra > most - MIN(h->size, most) || !budget_take(h->budget, extra))
        return NULL;
    if (!make_memory(h, h->size + extra)) {
        budget_give(h->budget, extra);
        return NULL;
    }
    if (h->size == 0) {
        b = (struct heap_block *)(void *)h->base;
        b->before = NULL;
        b->size = extra - 2 * HEAD;
    } else {
        b = h->end;
        b->size = extra - HEAD;
    }
    h->size += extra;
    h->end = after(b);
    h->end->size = 0;
    if (b->before != NULL && is_free(b->before)) {
        withdraw(h, b->before);
        b->before->size += HEAD + b->size;
        b = b->before;
    }
    h->end->before = b;
    insert(h, b);
    return b;
}

static size_t whole_pages(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (bytes + page - 1) / page * page;
}

/* Makes room for a block of `size` bytes: a quarter more than there is, or else just what is
 * needed. */
static struct heap_block *grow(struct heap *h, size_t size)
{
    const size_t least = whole_pages(size + 2 * HEAD);
    const size_t step = whole_pages(MIN(MAX(h->size / 4, STEP_LEAST), STEP_MOST));
    struct heap_block *b = extend(h, MAX(least, step));

    return b != NULL ? b : extend(h, least);
}

static struct heap *make(struct budget *budget, uint8_t *base, size_t reserved,
                         uint64_t most_bytes)
{
    struct heap *h = calloc(1, sizeof(*h));

    if (h == NULL)
        return NULL;
    h->base = base;
    h->budget = budget;
    h->reserved = reserved;
    h->most_bytes = most_bytes;
    atomic_init(&h->users, 1);
    return h;
}

int heap_open(struct heap **heap, struct budget *budget, uint64_t most_bytes,
              struct sheaf_error *err)
{
    const size_t reserved = whole_pages((size_t)MIN(MAX(most_bytes, 1), RESERVED_MOST));
    uint8_t *base = mmap(NULL, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (base == MAP_FAILED)
        return err_memory(err, reserved);
    *heap = make(budget, base, reserved, most_bytes);
    if (*heap != NULL)
        return SHEAF_OK;
    munmap(base, reserved);
    return err_memory(err, sizeof(**heap));
}

int heap_open_in(struct heap **heap, struct budget *budget, uint64_t most_bytes,
                 const struct heap_memory *memory, struct sheaf_error *err)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    *heap = make(budget, memory->base, most_bytes / page * page, most_bytes);
    if (*heap == NULL)
        return err_memory(err, sizeof(**heap));
    (*heap)->given = *memory;
    return SHEAF_OK;
}

bool heap_is_alone(const struct heap *h)
{
    return atomic_load(&h->users) == 1;
}

static void one_user_less(struct heap *h)
{
    if (atomic_fetch_sub(&h->users, 1) != 1)
        return;
    if (h->given.base == NULL)
        munmap(h->base, h->reserved);
    free(h);
}

void heap_close(struct heap *h)
{
    if (h == NULL)
        return;
    budget_give(h->budget, h->size);
    one_user_less(h);
}

/* ---- Pieces --------------------------------------------------------------------------------- */

static struct heap_block *block_of(void *piece)
{
    return (struct heap_block *)(void *)((uint8_t *)piece - HEAD);
}

bool heap_is_lent(const void *piece)
{
    return (block_of((void *)(uintptr_t)piece)->size & LENT) != 0;
}

size_t heap_piece_bytes(const void *piece)
{
    return size_of(block_of((void *)(uintptr_t)piece));
}

void heap_lend(struct heap *h, void *piece)
{
    struct heap_block *b = block_of(piece);

    if ((b->size & LENT) == 0) {
        atomic_init(&b->users, 1);
        h->lent_bytes += size_of(b);
        b->size |= LENT;
    }
    atomic_fetch_add(&b->users, 1);
    atomic_fetch_add(&h->users, 1);
}

void heap_return(struct heap *h, void *piece)
{
    struct heap_block *b = block_of(piece);

    if (atomic_fetch_sub(&b->users, 1) == 1) {
        b->next = atomic_load(&h->returned);
        while (!atomic_compare_exchange_weak(&h->returned, &b->next, b))
            continue;
    }
    one_user_less(h);
}

/* Makes a block free, and one with its neighbours that are. */
static void release(struct heap *h, struct heap_block *b)
{
    struct heap_block *next = after(b);

    if ((b->size & LENT) != 0) {
        b->size &= ~LENT;
        h->lent_bytes -= b->size;
    }
    if (is_free(next)) {
        withdraw(h, next);
        b->size += HEAD + next->size;
    }
    if (b->before != NULL && is_free(b->before)) {
        withdraw(h, b->before);
        b->before->size += HEAD + b->size;
        b = b->before;
    }
    after(b)->before = b;
    insert(h, b);
}

void heap_give(struct heap *h, void *piece)
{
    struct heap_block *b;

    if (piece == NULL)
        return;
    b = block_of(piece);
    if ((b->size & LENT) == 0 || atomic_fetch_sub(&b->users, 1) == 1)
        release(h, b);
}

/* Takes back what became free elsewhere. */
static void look_at_returned(struct heap *h)
{
    struct heap_block *b, *next;

    if (atomic_load(&h->returned) == NULL)
        return;
    for (b = atomic_exchange(&h->returned, NULL); b != NULL; b = next) {
        next = b->next;
        release(h, b);
    }
}

void *heap_take(struct heap *h, size_t size)
{
    struct heap_block *b, *rest;

    look_at_returned(h);
    if (size > h->reserved)
        return NULL;
    size = (MAX(size, LEAST) + GRAIN - 1) / GRAIN * GRAIN;
    b = find(h, size);
    if (b == NULL)
        b = search(h, size);
    if (b == NULL)
        b = grow(h, size);
    if (b == NULL)
        return NULL;
    withdraw(h, b);
    if (b->size - size >= HEAD + LEAST) {
        struct heap_block *end = after(b);

        rest = (struct heap_block *)(void *)((uint8_t *)b + HEAD + size);
        rest->before = b;
        rest->size = b->size - size - HEAD;
        end->before = rest;
        b->size = size;
        insert(h, rest);
    }
    return (uint8_t *)b + HEAD;
}
