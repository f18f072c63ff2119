/* SPDX-License-Identifier: MIT
 *
 * Copies public structs whose size differs between releases. A caller that was compiled with an
 * older or newer header passes the size of its struct. If the caller's struct is shorter, its
 * missing fields keep their defaults. If the caller's struct is longer, the fields that this
 * library does not know are set to 0. */
#ifndef BASE_SIZED_H
#define BASE_SIZED_H

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

/* Fills a caller's struct of `out_size` bytes from the library's struct. */
static inline void sized_give(void *out, size_t out_size, const void *ours, size_t ours_size)
{
    memset(out, 0, out_size);
    memcpy(out, ours, MIN(out_size, ours_size));
}

/* Copies a caller's options into the library's struct, which must hold the defaults. Both begin
 * with their own size (sizeof_options). Does nothing if `given` is NULL. */
static inline void sized_take(void *ours, size_t ours_size, const void *given)
{
    if (given == NULL)
        return;
    memcpy(ours, given, MIN(ours_size, *(const size_t *)given));
    memcpy(ours, &ours_size, sizeof(ours_size));
}

/* Like sized_take, but returns SHEAF_ERR_ARGUMENT if the caller's options were not initialised. */
static inline int sized_take_checked(void *ours, size_t ours_size, const void *given,
                                     struct sheaf_error *err)
{
    if (given != NULL && *(const size_t *)given == 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "the options were not initialised");
    sized_take(ours, ours_size, given);
    return SHEAF_OK;
}

#endif
