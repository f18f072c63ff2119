/* SPDX-License-Identifier: MIT
 *
 * Includes the hash XXH3 in a form that uses the widest vector instructions of the CPU, for hashing
 * whole shards. On x86-64, Debian's libxxhash uses SSE2 unless the program chooses wider
 * instructions at run time. This file chooses them, which doubles the speed. The hashes stay the
 * same. Files that only hash a few bytes gain nothing and include xxhash.h instead. */
#ifndef BASE_XXH3_WIDE_H
#define BASE_XXH3_WIDE_H

#include <xxhash.h>
#if defined(__x86_64__) && XXH_VERSION_NUMBER >= 801 && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

#endif
