/* SPDX-License-Identifier: MIT
 *
 * An arena is memory that a DataLoader's worker and its main program share. They use it to pass
 * samples without copying them through a socket. The arena is a memfd with the largest size that it
 * may reach, and has two parts. Only the used beginning of each part is backed by memory.
 *
 * The first part is divided into pieces. A new piece is allocated at the lowest free position, so
 * that memory is reused. Fresh memory would take more time, because the kernel must clear and map
 * it. Only the process that opened the arena keeps track of the pieces.
 *
 * The second part is for one reader, which reads its samples directly into this memory
 * (sheaf_reader_options.memory).
 *
 * The functions do not need the GIL and may be called on any thread. A forked child shares the
 * memory, but never frees a part of it. */
#ifndef PYTHON_ARENA_H
#define PYTHON_ARENA_H

#include "packing.h"
#include "process.h"

/* the size of each piece (allocated range of the shared memory) is a multiple of this number of
 * bytes */
#define ARENA_GRAIN ((size_t)64 << 10)

struct arena_gap {
    size_t at, bytes;
};

struct shared_arena {
    pthread_mutex_t lock;
    int descriptor;
    char *base;
    size_t bytes;               /* size of the address range in bytes */
    size_t piece_bytes;         /* size of the first part */
    unsigned forks;             /* fork_count when the arena was made */
    struct {
        size_t backed;          /* end of the memory in the first part */
        size_t reader_backed;   /* end of the memory in the second part */
        size_t pieces;
        /* free ranges in the first part of the arena (shared memory), sorted by position; adjacent
         * free ranges are joined into one */
        struct arena_gap *gaps;
        size_t gap_count, gap_capacity;
        size_t reader_users;    /* users of the second part */
        size_t users;           /* these users, the owner, and every piece */
    } locked;
};

/* Opens an arena, which is memory that several processes can share. `piece_bytes` is the size of
 * its first part, in which arena_take_piece allocates memory. `reader_bytes` is the size of its
 * second part, into which one reader reads its samples. Returns NULL if shared memory cannot be
 * allocated. */
struct shared_arena *arena_open(size_t piece_bytes, size_t reader_bytes);
/* Closes the arena (shared memory for samples). Its memory is freed when no sample in it is used
 * any more. `arena` may be NULL. */
void arena_close(struct shared_arena *arena);

/* Returns NULL if there is no room. */
void *arena_take_piece(struct shared_arena *arena, size_t bytes);
/* `piece` may be NULL. */
void arena_give_piece(struct shared_arena *arena, void *piece, size_t bytes);

/* Sets the reader's options so that the reader puts its samples into the second part of the arena
 * (shared memory), until arena_leave is called. Returns false if this part is in use or too
 * small. */
bool arena_serve(struct shared_arena *arena, struct sheaf_reader_options *options);
/* arena_use records one more user of the second part of the arena (shared memory), in which a
 * reader puts its samples. arena_leave records that a user no longer needs this part. The arena may
 * be NULL. */
void arena_use(struct shared_arena *arena);
void arena_leave(struct shared_arena *arena);

#endif
