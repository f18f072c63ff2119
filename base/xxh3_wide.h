/* SPDX-License-Identifier: MIT
 *
 * XXH3 of whole shards, with the widest vector instructions of the CPU. On x86-64, Debian's
 * libxxhash uses SSE2 unless the program selects other instructions at run time, as this file does.
 * The hashes are then the same, but computed at twice the speed. (Hashes of a few bytes gain
 * nothing. Files that compute such short hashes include xxhash.h.) */
#ifndef BASE_XXH3_WIDE_H
#define BASE_XXH3_WIDE_H

#include <xxhash.h>
#if defined(__x86_64__) && XXH_VERSION_NUMBER >= 801 && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

#endif
