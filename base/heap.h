/* SPDX-License-Identifier: MIT
 *
 * A heap of pieces of any size, freed in any order, such as the samples of a shuffle buffer, within
 * a budget.
 *
 * Why not malloc: what a worker allocates and another thread frees stays behind in an arena for
 * each thread, which no budget knows of; and every sample would be written to pages touched for
 * the first time.  Here what the heap holds, holes and all, is what it took from the budget; and
 * its memory is used again and again.  (It is not advised to be huge pages: virtual machines
 * that give free ones back to their host take longer to get one than to fault in small ones.)
 *
 * Two-level segregated fit: taking and giving back are a constant number of steps, neighbours
 * that are free become one.  Small pieces that were given back stand before it, by size: the last
 * is taken again first, without a look at its neighbours, which would each be fetched from
 * memory; they become one with those when nothing else has room.  Not thread-safe: it belongs to
 * the thread that plans the work.  What a piece holds may be written by any thread; and a piece
 * that is lent is given back by any thread, even when the heap's owner is gone. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/budget.h"
#include "sheaf.h"

struct heap_block;
struct heap_small;
struct heap_range;

#define HEAP_HEAD_BYTES 32u     /* of a piece, beyond its own */
#define HEAP_ROWS  44           /* one for each power of two */
#define HEAP_SLOTS 16u          /* sizes of a row */
#define HEAP_SMALL 64u          /* sizes of small pieces: multiples of 16 bytes */

/* Memory of another owner: `needed`, if not NULL, is called before the first `bytes` of it are
 * used, and says with nonzero that they cannot be. */
struct heap_memory {
    void *base;                 /* on a page */
    int (*needed)(void *context, size_t bytes);
    void *context;
};

struct heap {
    struct budget *budget;
    struct heap_range *ranges;  /* of addresses, the newest first: only that one grows */
    struct heap_memory given;   /* .base NULL: it is the heap's own */
    size_t size;                /* bytes of all ranges that are memory */
    size_t taken;               /* of these, bytes of pieces and their heads */
    uint64_t reserved;          /* what all ranges may have together */
    uint64_t most_bytes;        /* `size` does not grow past it; may be changed */
    struct heap_block *end;     /* the mark behind the last block */
    uint64_t rows;              /* which rows have a free block, */
    uint32_t slots[HEAP_ROWS];  /* and which sizes of them */
    struct heap_block *free[HEAP_ROWS][HEAP_SLOTS];
    struct heap_small *small[HEAP_SMALL];       /* given back, the last one first */
    bool has_small;             /* there may be some */
    uint64_t lent_bytes;        /* of pieces that were lent, until the owner sees them free */
    _Atomic(struct heap_block *) returned;      /* pieces that became free on other threads */
    atomic_size_t users;        /* the owner, and all who were lent pieces */
};

/* Takes nothing from the budget yet, which must outlive it, and no addresses either: it reserves
 * more of them as it grows. */
int heap_open(struct heap **heap, struct budget *budget, uint64_t most_bytes,
              struct sheaf_error *err);

/* The same, in `most_bytes` of memory that is given for as long as the heap has an owner or pieces
 * that are lent. */
int heap_open_in(struct heap **heap, struct budget *budget, uint64_t most_bytes,
                 const struct heap_memory *memory, struct sheaf_error *err);

/* About how many bytes of pieces it could still give: of what it holds, and by growing. */
uint64_t heap_room(const struct heap *heap);

/* Nothing is lent. */
bool heap_is_alone(const struct heap *heap);

/* `size` bytes, aligned for anything; NULL if neither the heap nor the budget has room. */
void *heap_take(struct heap *heap, size_t size);

/* Gives a piece back, in any order; one that is lent is free when it is returned, too.  NULL is
 * fine. */
void heap_give(struct heap *heap, void *piece);

/* Lends a piece that is not yet given back.  It is returned as often as it was lent, on whatever
 * thread. */
void heap_lend(struct heap *heap, void *piece);
void heap_return(struct heap *heap, void *piece);

bool heap_is_lent(const void *piece);
size_t heap_piece_bytes(const void *piece);

/* Gives the budget its bytes back, and frees everything, but for what is lent, which is freed when
 * the last piece of it is returned.  NULL is fine. */
void heap_close(struct heap *heap);

#endif
