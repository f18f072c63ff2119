/* SPDX-License-Identifier: MIT
 *
 * Detects failed allocations inside jansson, which drops characters of a text, or aborts, when a
 * buffer cannot grow.
 *
 * While jansson works, its allocator is replaced.  If the growth of a buffer (to a power of two)
 * fails on this thread, a reserve serves it.  Every later allocation fails, which jansson
 * reports; its result must then be discarded.  All memory of the reserve must be given back
 * before the end. */
#ifndef BASE_ALLOC_NOTE_H
#define BASE_ALLOC_NOTE_H

#include <stdbool.h>
#include <stddef.h>

/* The types of jansson's json_get_alloc_funcs and json_set_alloc_funcs. All notes must use the same
 * two functions. */
typedef void alloc_note_get(void *(**take)(size_t), void (**give)(void *));
typedef void alloc_note_set(void *(*take)(size_t), void (*give)(void *));

struct alloc_note {
    alloc_note_get *get;
    alloc_note_set *set;
    char *reserve;
    size_t size, used;
    bool has_failed;            /* an allocation of this thread */
};

/* Starts watching jansson's allocations while it works on a text whose longest token has
 * `token_bytes` bytes. Calls must not be nested. Returns false if there is no memory for the
 * reserve. */
bool alloc_note_begin(struct alloc_note *note, alloc_note_get *get, alloc_note_set *set,
                      size_t token_bytes);
void alloc_note_end(struct alloc_note *note);

/* Returns an upper bound of the length of the longest JSON token in the text. */
size_t alloc_note_longest(const char *text, size_t size);

#endif
