/* SPDX-License-Identifier: MIT
 *
 * Implements the heap of heap.h by two-level segregated fit. This algorithm allocates and frees in
 * a constant number of steps.
 *
 * The memory of the heap consists of blocks without gaps between them. A block has a head, and
 * bytes for one piece (an allocation). After the last block of a range of addresses, a head without
 * bytes marks the end. Adjacent free blocks are always merged.
 *
 * Free blocks are in lists by size. Row r of the table of lists has HEAP_SLOTS lists, for blocks of
 * 2^r to 2^(r + 1) bytes. Freed small pieces are first kept in other lists (struct heap_small). */
#include "base/heap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"

#define GRAIN      ((size_t)16)
/* size in bytes of the smallest piece (an allocation); a free block stores the links of its list in
 * these bytes */
#define LEAST      ((size_t)16)
#define STEP_LEAST ((size_t)64 << 10)       /* smallest growth step of the heap */
#define STEP_MOST  ((size_t)2 << 20)
#define RESERVED_MOST ((uint64_t)1 << 42)  /* addresses */
#define RANGE_LEAST   ((size_t)64 << 20)
/* flag in `size` for a free block; it is the lowest bit, which sizes do not use because they are
 * multiples of GRAIN */
#define FREE       ((size_t)1)
#define LENT       ((size_t)2)              /* flag: the piece is or was lent */

struct heap_block {
    struct heap_block *before;      /* the preceding neighbour, or NULL for the first block */
    /* number of bytes of the block after its head. Sizes are multiples of GRAIN, so the lowest bits
     * are free for two flags: FREE for a free block, and LENT for a piece that was lent to other
     * threads. */
    size_t size;
    atomic_size_t users;            /* for a LENT piece: the owner and the borrowers */
    /* The head of a block in use ends before this field. In a free block, the fields from here on
     * are stored in the bytes after the head. */
    _Alignas(GRAIN) struct heap_block *next;
    struct heap_block *previous;
};

#define HEAD offsetof(struct heap_block, next)
_Static_assert(HEAD == HEAP_HEAD_BYTES, "what heap.h says");

/* A range of consecutive addresses that the heap has reserved. Memory exists only for its first
 * `size` bytes. */
struct heap_range {
    struct heap_range *older;
    uint8_t *base;
    size_t size, reserved;
    struct heap_block *end;     /* the end mark after the last block */
};

static size_t size_of(const struct heap_block *b)
{
    return b->size & ~(FREE | LENT);
}

static bool is_free(const struct heap_block *b)
{
    return (b->size & FREE) != 0;
}

static struct heap_block *heap_after(struct heap_block *b)
{
    return (struct heap_block *)(void *)((uint8_t *)b + HEAD + size_of(b));
}

/* ---- The lists ------------------------------------------------------------------------------ */

struct heap_place {
    unsigned row, slot;
};

/* Returns the list of free blocks to which a block of this size belongs. Each list has the free
 * blocks of one range of sizes. */
static struct heap_place heap_place_of(size_t size)
{
    const unsigned row = 63u - (unsigned)__builtin_clzll(size);

    return (struct heap_place){ row, (unsigned)(size >> (row - 4)) & (HEAP_SLOTS - 1) };
}

static void insert(struct heap *h, struct heap_block *b)
{
    const struct heap_place p = heap_place_of(size_of(b));
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

static void heap_withdraw(struct heap *h, struct heap_block *b)
{
    const struct heap_place p = heap_place_of(size_of(b));

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

/* Returns a free block of at least `size` bytes, or NULL. Looks only at lists in which every block
 * is large enough, and so can take the first block of the list. */
static struct heap_block *heap_find_block(struct heap *h, size_t size)
{
    const unsigned row = 63u - (unsigned)__builtin_clzll(size);
    const struct heap_place p = heap_place_of(size + ((size_t)1 << (row - 4)) - 1);
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

/* Searches one list of free blocks, the list for blocks of about `size` bytes. Returns a block of
 * at least `size` bytes, or NULL if all blocks of this list are smaller. */
static struct heap_block *heap_search(struct heap *h, size_t size)
{
    const struct heap_place p = heap_place_of(size);
    struct heap_block *b = h->free[p.row][p.slot];

    while (b != NULL && size_of(b) < size)
        b = b->next;
    return b;
}

/* ---- Growing -------------------------------------------------------------------------------- */

/* Backs `extra` more addresses of the range with memory. */
static bool make_memory(const struct heap *h, const struct heap_range *r, size_t extra)
{
    if (h->given.base == NULL)
        return mprotect(r->base + r->size, extra, PROT_READ | PROT_WRITE) == 0;
    return h->given.needed == NULL || h->given.needed(h->given.context, r->size + extra) == 0;
}

static size_t whole_pages(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (bytes + page - 1) / page * page;
}

static bool heap_add_range(struct heap *h, uint8_t *base, size_t reserved)
{
    struct heap_range *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return false;
    r->base = base;
    r->reserved = reserved;
    r->older = h->ranges;
    h->ranges = r;
    return true;
}

static uint8_t *map_addresses(size_t bytes)
{
    uint8_t *base = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return base == MAP_FAILED ? NULL : base;
}

/* Reserves a new range of addresses, with room for at least `bytes` bytes. Reserved addresses take
 * no memory until they are used. Normally the new range is as large as the whole heap is now. If
 * the process may not use that many addresses (ulimit -v), the range is smaller.
 *
 * Huge pages are not requested, because some virtual machines return free huge pages to their host.
 * On such a machine, a new huge page would cost more time than small pages. */
static bool heap_reserve(struct heap *h, size_t bytes)
{
    const uint64_t left = h->reserved - MIN((uint64_t)h->size, h->reserved);
    size_t size = whole_pages(MAX((size_t)MIN(MAX(h->size, RANGE_LEAST), left), bytes));
    uint8_t *base;

    if (h->given.base != NULL)
        return false;
    base = map_addresses(size);
    if (base == NULL) {
        size = bytes;
        base = map_addresses(size);
    }
    if (base == NULL)
        return false;
    if (heap_add_range(h, base, size))
        return true;
    munmap(base, size);
    return false;
}

/* Adds memory for `extra` more bytes at the end of the newest address range. Returns the new free
 * block. If there is a free block directly before it, the two blocks are merged. Returns NULL if
 * the range has no room, or if the budget does not allow more memory. */
static struct heap_block *heap_extend(struct heap *h, size_t extra)
{
    const uint64_t most = MIN(h->most_bytes, h->reserved);
    struct heap_range *r = h->ranges;
    struct heap_block *b;

    if (extra > most - MIN(h->size, most) || extra > budget_room(h->budget))
        return NULL;
    if (r == NULL || extra > r->reserved - r->size) {
        if (!heap_reserve(h, extra))
            return NULL;
        r = h->ranges;
    }
    if (!make_memory(h, r, extra) || !budget_take(h->budget, extra))
        return NULL;
    if (r->size == 0) {
        b = (struct heap_block *)(void *)r->base;
        b->before = NULL;
        b->size = extra - 2 * HEAD;
    } else {
        b = r->end;
        b->size = extra - HEAD;
    }
    h->size += extra;
    r->size += extra;
    r->end = heap_after(b);
    r->end->size = 0;
    if (b->before != NULL && is_free(b->before)) {
        heap_withdraw(h, b->before);
        b->before->size += HEAD + b->size;
        b = b->before;
    }
    r->end->before = b;
    insert(h, b);
    return b;
}

/* Grows the heap so that it has a free block of `size` bytes. If possible, the heap grows by a
 * whole step, otherwise only by the bytes that the new block needs. */
static struct heap_block *heap_grow(struct heap *h, size_t size)
{
    const size_t least = whole_pages(size + 2 * HEAD);
    const size_t step = whole_pages(MIN(MAX(h->size / 4, STEP_LEAST), STEP_MOST));
    struct heap_block *b = heap_extend(h, MAX(least, step));

    return b != NULL ? b : heap_extend(h, least);
}

int heap_open(struct heap **heap, struct budget *budget, uint64_t most_bytes,
              struct sheaf_error *err)
{
    struct heap *h = calloc(1, sizeof(*h));

    if (h == NULL)
        return err_memory(err, sizeof(*h));
    h->budget = budget;
    h->reserved = MIN(most_bytes, RESERVED_MOST);
    h->most_bytes = most_bytes;
    atomic_init(&h->users, 1);
    *heap = h;
    return SHEAF_OK;
}

int heap_open_in(struct heap **heap, struct budget *budget, uint64_t most_bytes,
                 const struct heap_memory *memory, struct sheaf_error *err)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int code = heap_open(heap, budget, most_bytes, err);

    if (code != SHEAF_OK)
        return code;
    (*heap)->given = *memory;
    if (heap_add_range(*heap, memory->base, (size_t)most_bytes / page * page))
        return SHEAF_OK;
    free(*heap);
    *heap = NULL;
    return err_memory(err, sizeof(struct heap_range));
}

uint64_t heap_room(const struct heap *h)
{
    const uint64_t most = MIN(h->most_bytes, h->reserved);
    const uint64_t more = MIN(most - MIN(h->size, most), budget_room(h->budget));

    return h->size - h->taken + more;
}

bool heap_is_alone(const struct heap *h)
{
    return atomic_load(&h->users) == 1;
}

static void one_user_less(struct heap *h)
{
    if (atomic_fetch_sub(&h->users, 1) != 1)
        return;
    for (struct heap_range *r = h->ranges, *older; r != NULL; r = older) {
        older = r->older;
        if (h->given.base == NULL)
            munmap(r->base, r->reserved);
        free(r);
    }
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

/* Frees a block, and merges it with the blocks before and after it if they are free. */
static void heap_release(struct heap *h, struct heap_block *b)
{
    struct heap_block *next = heap_after(b);

    if (is_free(next)) {
        heap_withdraw(h, next);
        b->size += HEAD + next->size;
    }
    if (b->before != NULL && is_free(b->before)) {
        heap_withdraw(h, b->before);
        b->before->size += HEAD + b->size;
        b = b->before;
    }
    heap_after(b)->before = b;
    insert(h, b);
}

/* An element of the list of freed small pieces of one size. The element is stored in a freed piece.
 * Its array `pieces` has the addresses of other freed pieces, and nothing is stored in these
 * pieces. So most pieces are not accessed when they are freed. An access would be slow, because the
 * memory of a freed piece is rarely in the CPU's cache.
 *
 * When the array is full, the next freed piece becomes a new element, whose `next` points to this
 * element. */
struct heap_small {
    struct heap_small *next;
    size_t count;
    void *pieces[];
};
_Static_assert(sizeof(struct heap_small) <= LEAST, "any piece has room for it");

static bool is_small(size_t size)
{
    return size / GRAIN < HEAP_SMALL;
}

/* Puts a freed small piece into the list for its size. Its block still counts as used. It is not
 * merged with free neighbours, because this would read their heads, which are rarely in the CPU's
 * cache. */
static void push_small(struct heap *h, void *piece, size_t size)
{
    struct heap_small **list = &h->small[size / GRAIN], *top = *list;

    h->has_small = true;
    if (top != NULL && top->count < (size - sizeof(*top)) / sizeof(top->pieces[0])) {
        top->pieces[top->count++] = piece;
        return;
    }
    *list = piece;
    **list = (struct heap_small){ .next = top };
}

/* Returns a freed small piece of exactly this size, and removes it from the list of such pieces.
 * This is the piece that was freed last. Returns NULL if the list is empty. */
static void *pop_small(struct heap *h, size_t size)
{
    struct heap_small **list = &h->small[size / GRAIN], *top = *list;

    if (top == NULL || top->count == 0) {
        *list = top == NULL ? NULL : top->next;
        return top;
    }
    return top->pieces[--top->count];
}

/* Turns all freed small pieces into free blocks, and merges them with free neighbours. Called if no
 * free block is large enough for a new piece. Returns false if there were no freed small pieces. */
static bool join_small(struct heap *h)
{
    bool found = false;

    for (size_t i = 0; h->has_small && i < HEAP_SMALL; i++)
        for (void *piece; (piece = pop_small(h, i * GRAIN)) != NULL; found = true)
            heap_release(h, block_of(piece));
    h->has_small = false;
    return found;
}

/* Takes back a block that is no longer used. */
static void heap_put_back(struct heap *h, struct heap_block *b)
{
    if ((b->size & LENT) != 0) {
        b->size &= ~LENT;
        h->lent_bytes -= b->size;
    }
    h->taken -= HEAD + b->size;
    if (is_small(b->size))
        push_small(h, (uint8_t *)b + HEAD, b->size);
    else
        heap_release(h, b);
}

void heap_give(struct heap *h, void *piece)
{
    struct heap_block *b;

    if (piece == NULL)
        return;
    b = block_of(piece);
    if ((b->size & LENT) == 0 || atomic_fetch_sub(&b->users, 1) == 1)
        heap_put_back(h, b);
}

/* Takes back the pieces that other threads have returned. */
static void look_at_returned(struct heap *h)
{
    struct heap_block *b, *next;

    if (atomic_load(&h->returned) == NULL)
        return;
    for (b = atomic_exchange(&h->returned, NULL); b != NULL; b = next) {
        next = b->next;
        heap_put_back(h, b);
    }
}

static struct heap_block *find_or_search(struct heap *h, size_t size)
{
    struct heap_block *b = heap_find_block(h, size);

    return b != NULL ? b : heap_search(h, size);
}

/* Takes a free block of `size` bytes for a new piece. If no free block is large enough, the heap
 * grows. */
static struct heap_block *heap_cut(struct heap *h, size_t size)
{
    struct heap_block *b = find_or_search(h, size), *rest;

    if (b == NULL && join_small(h))
        b = find_or_search(h, size);
    if (b == NULL)
        b = heap_grow(h, size);
    if (b == NULL)
        return NULL;
    heap_withdraw(h, b);
    if (b->size - size >= HEAD + LEAST) {
        struct heap_block *end = heap_after(b);

        rest = (struct heap_block *)(void *)((uint8_t *)b + HEAD + size);
        rest->before = b;
        rest->size = b->size - size - HEAD;
        end->before = rest;
        b->size = size;
        insert(h, rest);
    }
    return b;
}

void *heap_take(struct heap *h, size_t size)
{
    struct heap_block *b;
    void *piece;

    look_at_returned(h);
    if (size > h->reserved)
        return NULL;
    size = (MAX(size, LEAST) + GRAIN - 1) / GRAIN * GRAIN;
    piece = is_small(size) ? pop_small(h, size) : NULL;
    if (piece != NULL) {
        h->taken += HEAD + size;
        return piece;
    }
    b = heap_cut(h, size);
    if (b == NULL)
        return NULL;
    h->taken += HEAD + b->size;
    return (uint8_t *)b + HEAD;
}
