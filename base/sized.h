/* SPDX-License-Identifier: MIT
 *
 * Copies public structs whose size differs between releases. A caller that was compiled with an
 * older or newer header passes the size of its struct. If the caller's struct is shorter, its
 * missing fields keep their defaults. If it is longer, the fields that this library does not know
 * are set to 0. */
#ifndef BASE_SIZED_H
#define BASE_SIZED_H

#include <string.h>

#include "base/bytes.h"

/* Fills a caller's struct of `out_size` bytes from the library's struct. */
static inline void sized_give(void *out, size_t out_size, const void *ours, size_t ours_size)
{
    memset(out, 0, out_size);
    memcpy(out, ours, MIN(out_size, ours_size));
}

/* Copies a caller's struct of `given_size` bytes into the library's struct, which holds the
 * defaults. */
static inline void sized_take(void *ours, size_t ours_size, const void *given, size_t given_size)
{
    memcpy(ours, given, MIN(ours_size, given_size));
}

#endif
