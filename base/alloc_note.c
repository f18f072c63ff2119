/* SPDX-License-Identifier: MIT
 *
 * See alloc_note.h. */
#include "base/alloc_note.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/bytes.h"

#define LEAST_GROWN 32u         /* bytes of a buffer that has grown */
#define MORE_BYTES  4096u       /* a reserve for other blocks whose size is a power of two */

typedef void *take_fn(size_t size);
typedef void give_fn(void *memory);

/* One variable for the whole process, because jansson's allocator is global too. */
static struct {
    pthread_mutex_t lock;
    size_t users_locked;                /* number of alloc_note_begin calls without an end */
    _Atomic(take_fn *) take_before;     /* the allocator that was set before */
    _Atomic(give_fn *) give_before;
} of_process = { .lock = PTHREAD_MUTEX_INITIALIZER, .take_before = malloc, .give_before = free };
static _Thread_local struct alloc_note *current;

static void *from_reserve(struct alloc_note *n, size_t size)
{
    void *memory = n->reserve + n->used;

    if (size < LEAST_GROWN || (size & (size - 1)) != 0 || size > n->size - n->used)
        return NULL;
    n->used += size;
    return memory;
}

static void *take_block(size_t size)
{
    struct alloc_note *n = current;
    void *memory = n != NULL && n->has_failed ? NULL : atomic_load(&of_process.take_before)(size);

    if (memory != NULL || n == NULL || size == 0)
        return memory;
    n->has_failed = true;
    return from_reserve(n, size);
}

static void give(void *memory)
{
    const struct alloc_note *n = current;
    const uintptr_t at = (uintptr_t)memory, first = n == NULL ? 0 : (uintptr_t)n->reserve;

    if (n == NULL || at < first || at >= first + n->size)
        atomic_load(&of_process.give_before)(memory);
}

bool alloc_note_begin(struct alloc_note *n, alloc_note_get *get, alloc_note_set *set,
                      size_t token_bytes)
{
    take_fn *there;
    give_fn *back;

    *n = (struct alloc_note){ .get = get, .set = set, .size = 4 * token_bytes + MORE_BYTES };
    n->reserve = malloc(n->size);
    if (n->reserve == NULL)
        return false;
    pthread_mutex_lock(&of_process.lock);
    of_process.users_locked++;
    get(&there, &back);
    if (there != take_block) {
        atomic_store(&of_process.take_before, there);
        atomic_store(&of_process.give_before, back);
        set(take_block, give);
    }
    pthread_mutex_unlock(&of_process.lock);
    current = n;
    return true;
}

void alloc_note_end(struct alloc_note *n)
{
    take_fn *there;
    give_fn *back;

    current = NULL;
    pthread_mutex_lock(&of_process.lock);
    n->get(&there, &back);
    if (--of_process.users_locked == 0 && there == take_block)
        n->set(atomic_load(&of_process.take_before), atomic_load(&of_process.give_before));
    pthread_mutex_unlock(&of_process.lock);
    free(n->reserve);
    n->reserve = NULL;
}

size_t alloc_note_longest(const char *text, size_t size)
{
    size_t longest = 0, first = 0;

    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\\')
            i++;                /* the escaped character does not end the token */
        else if (text[i] == '"') {
            longest = MAX(longest, i - first);
            first = i;
        }
    }
    return MAX(longest, size - first);
}
