/* SPDX-License-Identifier: MIT
 *
 * Implements the arena of arena.h: memory that is allocated in small pieces and freed all at once.
 * The arena allocates chunks of 256 KiB and cuts them into pieces. A piece that is larger than a
 * chunk gets a chunk of its own. */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

#define CHUNK_BYTES ((size_t)256 << 10)

struct arena_chunk {
    struct arena_chunk *older;
    char data[];
};

static void *arena_take_bytes(struct arena *a, size_t size, size_t alignment)
{
    size_t start = (a->used + alignment - 1) & ~(alignment - 1);

    if (a->chunks == NULL || start > a->capacity || size > a->capacity - start) {
        const size_t capacity = MAX(size, CHUNK_BYTES - sizeof(*a->chunks));
        struct arena_chunk *chunk;

        if (capacity > SIZE_MAX - sizeof(*chunk))
            return NULL;
        chunk = malloc(sizeof(*chunk) + capacity);
        if (chunk == NULL)
            return NULL;
        chunk->older = a->chunks;
        a->chunks = chunk;
        a->capacity = capacity;
        a->bytes += sizeof(*chunk) + capacity;
        start = 0;
    }
    a->used = start + size;
    return a->chunks->data + start;
}

void *arena_take(struct arena *a, size_t size)
{
    return arena_take_bytes(a, size, sizeof(double));
}

const char *arena_text(struct arena *a, const char *text, size_t size)
{
    char *copy = size == SIZE_MAX ? NULL : arena_take_bytes(a, size + 1, 1);

    if (copy == NULL)
        return NULL;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

void arena_free(struct arena *a)
{
    while (a->chunks != NULL) {
        struct arena_chunk *older = a->chunks->older;

        free(a->chunks);
        a->chunks = older;
    }
    *a = (struct arena){ 0 };
}
