/* SPDX-License-Identifier: MIT
 *
 * The memory that a DataLoader's worker shares with its program, for samples.
 *
 *     piece ... | free | piece ... | free, no memory yet || a reader's ... | no memory yet |
 *
 * The memory is a memfd of the largest size that it may reach. Only parts that were used once are
 * backed by memory. Pieces are taken at the lowest free place and reused, because fresh memory
 * would have to be cleared and mapped. The records about pieces belong to the worker alone. The
 * second part is for one reader, which puts its samples there (sheaf_reader_options.memory), so
 * that they need no copy.
 *
 * The functions need no GIL and may be called on any thread. In the child of a fork, which has the
 * same memory, nothing is ever given back. */
#ifndef PYTHON_ARENA_H
#define PYTHON_ARENA_H

#include "packing.h"
#include "process.h"

#define ARENA_GRAIN ((size_t)64 << 10)      /* the size of a piece is a multiple of this */

struct arena_gap {
    size_t at, bytes;
};

struct shared_arena {
    pthread_mutex_t lock;
    int descriptor;
    char *base;
    size_t bytes;               /* of addresses, */
    size_t piece_bytes;         /* size of the part for pieces */
    unsigned forks;             /* fork_count when it was made */
    struct {
        size_t backed;          /* end of the memory in the part for pieces */
        size_t reader_backed;   /* and in the reader's */
        size_t pieces;
        struct arena_gap *gaps;       /* free ranges for pieces, by position; no two are adjacent */
        size_t gap_count, gap_capacity;
        size_t reader_users;    /* the reader, and everything that it gave to keep */
        size_t users;           /* those, the owner, and every piece */
    } locked;
};

/* Opens an arena. Returns NULL if there is no memory to be shared. */
struct shared_arena *arena_open(size_t piece_bytes, size_t reader_bytes);
/* Closes the arena. It is freed when nobody uses it any more. NULL is allowed. */
void arena_close(struct shared_arena *arena);

/* NULL: there is no room. */
void *arena_take_piece(struct shared_arena *arena, size_t bytes);
/* NULL is fine. */
void arena_give_piece(struct shared_arena *arena, void *piece, size_t bytes);

/* Gives a reader its part, which it uses until arena_leave. Returns false if the part is in use or
 * too small. */
bool arena_serve(struct shared_arena *arena, struct sheaf_reader_options *options);
/* Add and remove a user of the reader's part. The arena may be NULL. */
void arena_use(struct shared_arena *arena);
void arena_leave(struct shared_arena *arena);

#endif
