/* SPDX-License-Identifier: MIT
 *
 * Structs of the public interface that grow: a caller that was compiled against an older or a newer
 * header gives the size that it knows.  Fields that it does not know are left out; fields that
 * this library does not know are 0. */
#ifndef BASE_SIZED_H
#define BASE_SIZED_H

#include <string.h>

#include "base/bytes.h"

/* Fills a caller's struct of out_size bytes from ours. */
static inline void sized_give(void *out, size_t out_size, const void *ours, size_t ours_size)
{
    memset(out, 0, out_size);
    memcpy(out, ours, MIN(out_size, ours_size));
}

/* Takes a caller's struct of given_size bytes into ours, which holds the defaults. */
static inline void sized_take(void *ours, size_t ours_size, const void *given, size_t given_size)
{
    memcpy(ours, given, MIN(ours_size, given_size));
}

#endif
