/* SPDX-License-Identifier: MIT
 *
 * The memory for samples that a DataLoader's worker shares with its program.
 *
 * The memory is a memfd with the largest size that it may reach. It has two parts; in each of them,
 * only the beginning that has been used so far is backed by memory. The first part is divided into
 * pieces, which are allocated and freed one by one. A piece is allocated at the lowest free
 * position, so that used memory is used again; fresh memory would first have to be cleared and
 * mapped by the kernel. Only the worker process keeps track of the allocated pieces. The second
 * part is for one reader, which puts its samples there (sheaf_reader_options.memory), so that the
 * samples need not be copied.
 *
 * The functions do not need the GIL and may be called on any thread. A forked child shares the
 * memory, but never frees a part of it. */
#ifndef PYTHON_ARENA_H
#define PYTHON_ARENA_H

#include "packing.h"
#include "process.h"

/* the size of a piece is a multiple of this number of bytes */
#define ARENA_GRAIN ((size_t)64 << 10)

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
        /* free ranges for pieces, sorted by position; no two of them are adjacent */
        struct arena_gap *gaps;
        size_t gap_count, gap_capacity;
        size_t reader_users;    /* the reader, and everything that it gave to keep */
        size_t users;           /* those, the owner, and every piece */
    } locked;
};

/* Opens an arena. Returns NULL if shared memory cannot be allocated. */
struct shared_arena *arena_open(size_t piece_bytes, size_t reader_bytes);
/* Closes the arena. Its memory is freed when its last user is gone. NULL is allowed. */
void arena_close(struct shared_arena *arena);

/* NULL: there is no room. */
void *arena_take_piece(struct shared_arena *arena, size_t bytes);
/* NULL is fine. */
void arena_give_piece(struct shared_arena *arena, void *piece, size_t bytes);

/* Gives a reader its part of the arena, which the reader uses until arena_leave. Returns false if
 * the part is in use or too small. */
bool arena_serve(struct shared_arena *arena, struct sheaf_reader_options *options);
/* arena_use records one more user of the reader's part of the arena. arena_leave records that a
 * user has left it. The arena may be NULL. */
void arena_use(struct shared_arena *arena);
void arena_leave(struct shared_arena *arena);

#endif
