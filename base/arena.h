/* SPDX-License-Identifier: MIT
 *
 * An arena: memory that is allocated in small pieces and freed all at once. The packer stores the
 * names of its input files in an arena, because there may be millions of names. */
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

/* Allocates `size` bytes in the arena, aligned for a double. Returns NULL if memory is
 * exhausted. */
void *arena_take(struct arena *arena, size_t size);

/* Copies the text into the arena, adds a NUL, and returns the copy. Returns NULL if memory is
 * exhausted. The copy may begin at any address, because text needs no alignment. */
const char *arena_text(struct arena *arena, const char *text, size_t size);

void arena_free(struct arena *arena);

#endif
