/* SPDX-License-Identifier: MIT
 *
 * Integers of variable length (varints). Each byte holds seven bits of the integer, beginning with
 * the lowest bits. The top bit of a byte is set if another byte follows. */
#ifndef BASE_VARINT_H
#define BASE_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VARINT_MOST 10      /* bytes of the longest integer */

/* Writes at most VARINT_MOST bytes and returns their number. */
static inline size_t varint_put(uint8_t *at, uint64_t value)
{
    size_t size = 0;

    for (; value >= 0x80; value >>= 7)
        at[size++] = (uint8_t)(value | 0x80);
    at[size++] = (uint8_t)value;
    return size;
}

/* Reads an integer at *at, and moves *at to the byte after it. Returns false if the integer does
 * not end before `end`, or has more than 64 bits. */
static inline bool varint_take(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && *at != end; shift += 7) {
        const uint8_t byte = *(*at)++;

        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return shift < 63 || byte <= 1;
    }
    return false;
}

#endif
