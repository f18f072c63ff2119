/* SPDX-License-Identifier: MIT
 *
 * The memory that a DataLoader's worker shares with its program, for samples.
 *
 *     piece ... | free | piece ... | free, no memory yet || a reader's ... | no memory yet |
 *
 * A memfd, as large as it may ever become, of which memory is what was used once.  Pieces are taken
 * at the lowest place and used again and again: fresh memory would have to be cleared and mapped.
 * What describes them is the worker's alone.  The second part is for one reader, which puts its
 * samples there (sheaf_reader_options.memory), so that they need no copy.
 *
 * Needs no GIL; from any thread.  In the child of a fork, which has the same memory, nothing is
 * ever given back. */
#ifndef PYTHON_ARENA_H
#define PYTHON_ARENA_H

#include "packing.h"
#include "process.h"

#define ARENA_GRAIN ((size_t)64 << 10)      /* a piece is a multiple of it */

struct gap {
    size_t at, bytes;
};

struct arena {
    pthread_mutex_t lock;
    int descriptor;
    char *base;
    size_t bytes;               /* of addresses, */
    size_t piece_bytes;         /* of which so many are for pieces */
    unsigned forks;             /* fork_count when it was made */
    struct {
        size_t backed;          /* where memory ends in the part of the pieces, */
        size_t reader_backed;   /* and in the reader's */
        size_t pieces;
        struct gap *gaps;       /* what is free for pieces, by place; no two touch */
        size_t gap_count, gap_capacity;
        size_t reader_users;    /* the reader, and all that it gave to keep */
        size_t users;           /* those, who opened it, and every piece */
    } locked;
};

/* NULL: there is no memory to be shared. */
struct arena *arena_open(size_t piece_bytes, size_t reader_bytes);
/* It goes when nobody uses it any more.  NULL is fine. */
void arena_close(struct arena *arena);

/* NULL: there is no room. */
void *arena_take_piece(struct arena *arena, size_t bytes);
/* NULL is fine. */
void arena_give_piece(struct arena *arena, void *piece, size_t bytes);

/* Gives a reader its part, which it uses until arena_leave.  False: it is in use, or too small. */
bool arena_serve(struct arena *arena, struct sheaf_reader_options *options);
/* One more user of the reader's part; and one less, which may be of no arena. */
void arena_use(struct arena *arena);
void arena_leave(struct arena *arena);

#endif
