/* SPDX-License-Identifier: MIT
 *
 * Flags of type int. Another thread or a signal handler sets a flag to ask a running function to
 * end early. A flag is read and written without a memory order, because no other data is passed
 * along with it. */
#ifndef BASE_FLAG_H
#define BASE_FLAG_H

#include <stdbool.h>
#include <stddef.h>

static inline void flag_raise(volatile int *flag)
{
    __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
}

/* Returns whether the flag is set. Returns false if `flag` is NULL. */
static inline bool flag_is_raised(const volatile int *flag)
{
    return flag != NULL && __atomic_load_n(flag, __ATOMIC_RELAXED) != 0;
}

/* Lowers the flag and returns whether it was raised. */
static inline bool flag_take(volatile int *flag)
{
    return __atomic_exchange_n(flag, 0, __ATOMIC_RELAXED) != 0;
}

#endif
