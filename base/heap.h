/* SPDX-License-Identifier: MIT
 *
 * A heap of pieces of any size, freed in any order, such as the samples of a shuffle buffer, within
 * a memory budget.
 *
 * Why not malloc? Memory that a worker allocates and another thread frees stays in an arena for
 * each thread, which no budget counts, and every sample would be written to fresh pages. Here the
 * budget counts everything that the heap holds, including the holes, and the memory is reused. (The
 * heap does not ask for huge pages. Virtual machines that return free huge pages to their host need
 * longer to get one back than to fault in small pages.)
 *
 * The algorithm is two-level segregated fit: allocating and freeing take a constant number of
 * steps, and free neighbours are merged. Small freed pieces are first kept in lists by size, and
 * the last one freed is reused first. This avoids looking at its neighbours, which would have to be
 * fetched from memory. They are merged with their neighbours only if no other free block is large
 * enough. The heap is not thread-safe: it belongs to the thread that plans the work. Any thread may
 * write to a piece, and any thread may return a lent piece, even after the heap's owner is gone. */
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

#define HEAP_HEAD_BYTES 32u     /* of each piece, in addition to its own bytes */
#define HEAP_ROWS  44           /* one for each power of two */
#define HEAP_SLOTS 16u          /* size steps in a row */
#define HEAP_SMALL 64u          /* small sizes: the multiples of 16 bytes */

/* Memory that belongs to another owner. `needed`, if not NULL, is called before the first `bytes`
 * of the memory are used. It returns nonzero if they cannot be used. */
struct heap_memory {
    void *base;                 /* page-aligned */
    int (*needed)(void *context, size_t bytes);
    void *context;
};

struct heap {
    struct budget *budget;
    struct heap_range *ranges;  /* address ranges, the newest first; only the newest one grows */
    struct heap_memory given;   /* given.base is NULL if the memory is the heap's own */
    size_t size;                /* bytes of all ranges that are backed by memory */
    size_t taken;               /* bytes of `size` that pieces and their heads occupy */
    uint64_t reserved;          /* upper bound for all ranges together */
    uint64_t most_bytes;        /* upper bound of `size`; the owner may change it */
    struct heap_block *end;     /* the end mark after the last block */
    uint64_t rows;              /* bit mask of the rows that have a free block */
    uint32_t slots[HEAP_ROWS];  /* bit masks of the sizes that have a free block, by row */
    struct heap_block *free[HEAP_ROWS][HEAP_SLOTS];
    struct heap_small *small[HEAP_SMALL];       /* freed small pieces by size, the last one freed
                                                   first */
    bool has_small;             /* whether `small` may have pieces */
    uint64_t lent_bytes;        /* bytes of lent pieces that the owner has not yet seen returned */
    _Atomic(struct heap_block *) returned;      /* lent pieces that other threads have returned */
    atomic_size_t users;        /* the owner and all holders of lent pieces */
};

/* Opens an empty heap. It takes nothing from the budget yet, and reserves no addresses; it reserves
 * them as it grows. The budget must outlive the heap. */
int heap_open(struct heap **heap, struct budget *budget, uint64_t most_bytes,
              struct sheaf_error *err);

/* Opens a heap in memory that the caller provides. The memory must stay valid while the heap has an
 * owner or lent pieces. */
int heap_open_in(struct heap **heap, struct budget *budget, uint64_t most_bytes,
                 const struct heap_memory *memory, struct sheaf_error *err);

/* Returns about how many bytes of pieces the heap could still give, from the memory it holds and by
 * growing. */
uint64_t heap_room(const struct heap *heap);

/* Returns whether no piece is lent. */
bool heap_is_alone(const struct heap *heap);

/* Returns `size` bytes, aligned for any type, or NULL if neither the heap nor the budget has room.
 */
void *heap_take(struct heap *heap, size_t size);

/* Frees a piece. Pieces may be freed in any order. A lent piece becomes free when it has also been
 * returned. NULL is allowed. */
void heap_give(struct heap *heap, void *piece);

/* Lends a piece that has not been freed. It must be returned as often as it was lent, on any
 * thread. */
void heap_lend(struct heap *heap, void *piece);
void heap_return(struct heap *heap, void *piece);

bool heap_is_lent(const void *piece);
size_t heap_piece_bytes(const void *piece);

/* Gives the bytes back to the budget and frees the memory. The memory of lent pieces is freed when
 * the last of them is returned. NULL is allowed. */
void heap_close(struct heap *heap);

#endif
