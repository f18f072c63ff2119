/* SPDX-License-Identifier: MIT
 *
 * An arena: memory that is allocated in small pieces and freed all at once. The packer uses an
 * arena for the names of its input files, of which there may be millions. */
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

/* Returns `size` bytes, aligned for a double, or NULL if memory is exhausted. */
void *arena_take(struct arena *arena, size_t size);

/* Returns a copy of the text with a NUL after it, or NULL if memory is exhausted. The copy is not
 * aligned, because text needs no alignment. */
const char *arena_text(struct arena *arena, const char *text, size_t size);

void arena_free(struct arena *arena);

#endif
