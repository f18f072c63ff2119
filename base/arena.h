/* SPDX-License-Identifier: MIT
 *
 * An arena: memory that is allocated piece by piece and freed at once, for the millions of names of
 * a plan. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct arena_chunk;

/* Zero-initialised. */
struct arena {
    struct arena_chunk *chunks;     /* the newest first */
    size_t used, capacity;          /* of the newest */
    uint64_t bytes;                 /* of all */
};

/* `size` bytes, aligned for a double; NULL: out of memory. */
void *arena_take(struct arena *arena, size_t size);

/* A copy of text with a NUL after it, unaligned; NULL: out of memory. */
const char *arena_text(struct arena *arena, const char *text, size_t size);

void arena_free(struct arena *arena);

#endif
