/* SPDX-License-Identifier: MIT
 *
 * A heap within a memory budget. An allocation from the heap is called a piece, and may have any
 * size. Pieces, such as the samples of a shuffle buffer, may be freed in any order. The heap's
 * owner can lend a piece to other threads. Its memory then stays valid until they have returned it,
 * even after the owner has freed the piece or closed the heap.
 *
 * Why not malloc? If one thread allocates memory and another thread frees it, malloc keeps the
 * memory in the first thread's arena, where no budget counts it. New samples would then take fresh
 * pages instead of this memory. Here the budget counts all memory of the heap, including the holes
 * between pieces, and the heap reuses its memory. (The heap does not ask for huge pages. Virtual
 * machines that return free huge pages to their host take longer to get a huge page back than to
 * fault in small pages.)
 *
 * The algorithm is two-level segregated fit: allocating and freeing take a constant number of
 * steps, and free neighbours are merged. Small pieces that are freed are first kept in lists by
 * size, and the piece freed last is reused first. This avoids reading the heads of the neighbouring
 * blocks, which are rarely in the CPU's cache. The small pieces are merged with their neighbours
 * only if no other free block is large enough. The heap is not thread-safe: it belongs to the
 * thread that plans the work. But any thread may write to a piece, and any thread may return a lent
 * piece. */
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

/* Memory that the heap's caller owns. If `needed` is not NULL, the heap calls it whenever the heap
 * grows, before it uses the new memory. `bytes` is the size of the heap after it has grown.
 * `needed` returns nonzero if that much memory cannot be used. */
struct heap_memory {
    void *base;                 /* page-aligned */
    int (*needed)(void *context, size_t bytes);
    void *context;
};

struct heap {
    struct budget *budget;
    /* list of the address ranges, the newest range first; only the newest range grows */
    struct heap_range *ranges;
    /* memory from the heap's caller; given.base is NULL if the heap reserves its own memory */
    struct heap_memory given;
    size_t size;                /* bytes of all ranges that are backed by memory */
    size_t taken;               /* bytes of `size` that pieces and their heads occupy */
    uint64_t reserved;          /* upper bound for all ranges together */
    uint64_t most_bytes;        /* upper bound of `size`; the owner may change it */
    struct heap_block *end;     /* the end mark after the last block */
    /* bit r is set if there is a free block in row r, which has the lists for blocks of 2^r bytes
     * and more */
    uint64_t rows;
    /* for each row: bit i is set if list i of the row has a free block */
    uint32_t slots[HEAP_ROWS];
    struct heap_block *free[HEAP_ROWS][HEAP_SLOTS];
    /* lists of freed small pieces, one list for each size; the piece freed last comes first */
    struct heap_small *small[HEAP_SMALL];
    bool has_small;             /* whether `small` may have pieces */
    /* number of bytes in pieces that are lent (heap_lend) and whose return the heap has not yet
     * noticed */
    uint64_t lent_bytes;
    _Atomic(struct heap_block *) returned;      /* lent pieces that other threads have returned */
    atomic_size_t users;        /* the owner and all holders of lent pieces */
};

/* Opens an empty heap. Opening takes nothing from the budget and reserves no addresses; the heap
 * does both as it grows. The budget must outlive the heap. */
int heap_open(struct heap **heap, struct budget *budget, uint64_t most_bytes,
              struct sheaf_error *err);

/* Opens a heap in memory that the caller provides. The memory must stay valid until the heap is
 * closed and all lent pieces have been returned. */
int heap_open_in(struct heap **heap, struct budget *budget, uint64_t most_bytes,
                 const struct heap_memory *memory, struct sheaf_error *err);

/* Returns approximately how many more bytes the heap could give out, from its free memory and by
 * growing. */
uint64_t heap_room(const struct heap *heap);

/* Returns whether no piece is lent. */
bool heap_is_alone(const struct heap *heap);

/* Returns `size` bytes, aligned for any type, or NULL if neither the heap nor the budget has room.
 */
void *heap_take(struct heap *heap, size_t size);

/* Frees a piece. Pieces may be freed in any order. If the piece is lent, its memory becomes free
 * only when it has also been returned. NULL is allowed. */
void heap_give(struct heap *heap, void *piece);

/* Lends a piece, so that its memory stays valid after heap_give. The piece must be returned once
 * for each call of heap_lend; any thread may return it. */
void heap_lend(struct heap *heap, void *piece);
void heap_return(struct heap *heap, void *piece);

bool heap_is_lent(const void *piece);
size_t heap_piece_bytes(const void *piece);

/* Closes the heap: gives all its bytes back to the budget and frees its memory. Memory of lent
 * pieces stays until the last of them is returned. NULL is allowed. */
void heap_close(struct heap *heap);

#endif
