/* SPDX-License-Identifier: MIT
 *
 * Helps to fuzz formats with checksums and strict grammars. The input is a list of edits to intact
 * data, so that most inputs get past the first checks. */
#ifndef TESTS_FUZZ_PATCH_H
#define TESTS_FUZZ_PATCH_H

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

/* Returns a copy of `sound` to which the edits were applied. An edit has 4 bytes: the position (16
 * bits), the action (change, insert, remove, truncate), and a byte. The caller frees the copy. */
static inline uint8_t *patched(const void *sound, size_t sound_size, const uint8_t *edits,
                               size_t edits_size, size_t *size)
{
    uint8_t *copy = malloc(sound_size + edits_size + 1);

    if (copy == NULL)
        abort();
    memcpy(copy, sound, sound_size);
    *size = sound_size;
    for (; edits_size >= 4 && *size > 0; edits += 4, edits_size -= 4) {
        const size_t at = (load32(edits) & 0xffff) % *size;

        switch (edits[2] % 8) {
        case 0:
            memmove(copy + at + 1, copy + at, (*size)++ - at);
            copy[at] = edits[3];
            break;
        case 1:
            memmove(copy + at, copy + at + 1, --*size - at);
            break;
        case 2:
            *size = at;
            break;
        default:
            copy[at] = edits[3];
        }
    }
    return copy;
}

#endif
