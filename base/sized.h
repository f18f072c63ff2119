/* SPDX-License-Identifier: MIT
 *
 * Copies public structs between the library and programs. A program may have been compiled with
 * another version of sheaf.h, in which a struct is shorter or longer. Therefore the program passes
 * the size of its struct, and only the fields that both versions have are copied. If the program's
 * options lack a field, the field keeps its default in the library. If a result has a field that
 * the library does not know, the field is set to 0. */
#ifndef BASE_SIZED_H
#define BASE_SIZED_H

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

/* Copies the library's struct `ours` to the caller's struct `out`, which may have another size. */
static inline void sized_give(void *out, size_t out_size, const void *ours, size_t ours_size)
{
    memset(out, 0, out_size);
    memcpy(out, ours, MIN(out_size, ours_size));
}

/* Copies the caller's options `given` over the defaults in the library's struct `ours`. The first
 * field of both structs is their size (sizeof_options). Does nothing if `given` is NULL. */
static inline void sized_take(void *ours, size_t ours_size, const void *given)
{
    if (given == NULL)
        return;
    memcpy(ours, given, MIN(ours_size, *(const size_t *)given));
    memcpy(ours, &ours_size, sizeof(ours_size));
}

/* Copies the caller's options over the defaults like sized_take, but returns SHEAF_ERR_ARGUMENT if
 * the options were not initialised by their function _init. */
static inline int sized_take_checked(void *ours, size_t ours_size, const void *given,
                                     struct sheaf_error *err)
{
    if (given != NULL && *(const size_t *)given == 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "the options were not initialised");
    sized_take(ours, ours_size, given);
    return SHEAF_OK;
}

#endif
