/* SPDX-License-Identifier: MIT
 *
 * A heap within a memory budget. The budget counts all memory of the heap, even freed memory that
 * the heap keeps. (malloc also keeps freed memory, but no budget could count it.)
 *
 * An allocation from the heap is called a piece. Pieces, such as the samples of a shuffle buffer,
 * have any size and may be freed in any order.
 *
 * The owner of the heap can lend a piece to other threads. The memory of a lent piece stays valid
 * until the piece is returned, even if the owner has freed the piece or closed the heap.
 *
 * Any thread may write to a piece or return a lent piece. All other functions must be called on one
 * thread, the thread that plans the work of the reader. */
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

/* Memory that the caller gives to the heap. Before the heap uses more of this memory, it calls
 * `needed`, unless `needed` is NULL. The argument `bytes` is the total number of bytes that the
 * heap would then use. If `needed` returns nonzero, the heap does not use more of the memory. */
struct heap_memory {
    void *base;                 /* page-aligned */
    int (*needed)(void *context, size_t bytes);
    void *context;
};

struct heap {
    struct budget *budget;
    /* list of the ranges of addresses that the heap has reserved, from the newest to the oldest;
     * the heap grows only in the newest range */
    struct heap_range *ranges;
    /* memory from the caller; given.base is NULL if the heap allocates its memory itself */
    struct heap_memory given;
    size_t size;                /* bytes of all ranges that are backed by memory */
    size_t taken;               /* bytes of `size` that pieces and their heads occupy */
    uint64_t reserved;          /* upper bound for all ranges together */
    uint64_t most_bytes;        /* upper bound of `size`; the owner may change it */
    struct heap_block *end;     /* the end mark after the last block */
    /* bit r is set if at least one of the lists free[r] has a block; these lists are for blocks of
     * 2^r to 2^(r + 1) bytes */
    uint64_t rows;
    /* bit i of slots[r] is set if the list free[r][i] has a block */
    uint32_t slots[HEAP_ROWS];
    struct heap_block *free[HEAP_ROWS][HEAP_SLOTS];
    /* small[i] is the list of freed pieces (allocations) of one small size; the piece that was
     * freed last comes first */
    struct heap_small *small[HEAP_SMALL];
    bool has_small;             /* whether `small` may have pieces */
    /* number of bytes in lent pieces (heap_lend). If another thread returns a piece, its bytes are
     * subtracted only when the heap next looks at the list `returned`. */
    uint64_t lent_bytes;
    _Atomic(struct heap_block *) returned;      /* lent pieces that other threads have returned */
    atomic_size_t users;        /* the owner and all holders of lent pieces */
};

/* Opens an empty heap. The heap takes bytes from the budget and reserves addresses only when it
 * grows. The budget must exist longer than the heap. */
int heap_open(struct heap **heap, struct budget *budget, uint64_t most_bytes,
              struct sheaf_error *err);

/* Opens a heap in memory that the caller provides. This memory must stay valid until the heap is
 * closed and all lent pieces are returned. */
int heap_open_in(struct heap **heap, struct budget *budget, uint64_t most_bytes,
                 const struct heap_memory *memory, struct sheaf_error *err);

/* Returns approximately how many bytes can still be allocated, in free blocks and by growing. */
uint64_t heap_room(const struct heap *heap);

/* Returns whether no piece is lent. */
bool heap_is_alone(const struct heap *heap);

/* Allocates `size` bytes, aligned for any type. Returns NULL if neither the heap nor its budget has
 * room for them. */
void *heap_take(struct heap *heap, size_t size);

/* Frees a piece, or does nothing if `piece` is NULL. If the piece was lent to other threads, its
 * memory becomes free only after the piece has been returned as well. */
void heap_give(struct heap *heap, void *piece);

/* Lends a piece, so that its memory stays valid even after the owner has freed it with heap_give.
 * The piece must be returned once for each call of heap_lend. Any thread may return it. */
void heap_lend(struct heap *heap, void *piece);
void heap_return(struct heap *heap, void *piece);

bool heap_is_lent(const void *piece);
size_t heap_piece_bytes(const void *piece);

/* Closes the heap, or does nothing if `heap` is NULL. Gives all bytes back to the budget, and frees
 * the memory. If pieces are still lent, the memory is freed when the last lent piece is
 * returned. */
void heap_close(struct heap *heap);

#endif
