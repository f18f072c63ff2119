/* SPDX-License-Identifier: MIT
 *
 * Includes XXH3 with the widest vector instructions that the CPU has. This doubles the speed for
 * whole shards. Without this file, Debian's libxxhash would use only SSE2 on x86-64. The hashes are
 * the same. Files that hash only a few bytes include xxhash.h instead. */
#ifndef BASE_XXH3_WIDE_H
#define BASE_XXH3_WIDE_H

#include <xxhash.h>
#if defined(__x86_64__) && XXH_VERSION_NUMBER >= 801 && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

#endif
