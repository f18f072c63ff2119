/* SPDX-License-Identifier: MIT
 *
 * Loads and stores little-endian numbers at unaligned addresses, on machines of any byte order.
 * Also has the macros MIN, MAX and COUNT_OF. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#define CACHE_LINE 64u          /* bytes that the CPU's cache loads at once */

/* Returns how many bytes must be added to an address or size, so that it is a multiple of
 * CACHE_LINE. */
static inline size_t to_line(uintptr_t value)
{
    return -value & (CACHE_LINE - 1);
}

static inline uint16_t load16(const void *p) { uint16_t v; memcpy(&v, p, 2); return le16toh(v); }
static inline uint32_t load32(const void *p) { uint32_t v; memcpy(&v, p, 4); return le32toh(v); }
static inline uint64_t load64(const void *p) { uint64_t v; memcpy(&v, p, 8); return le64toh(v); }
static inline void store32(void *p, uint32_t v) { v = htole32(v); memcpy(p, &v, 4); }
static inline void store64(void *p, uint64_t v) { v = htole64(v); memcpy(p, &v, 8); }

static inline uint64_t bits_of(double v) { uint64_t bits; memcpy(&bits, &v, 8); return bits; }
static inline float float_of(uint32_t bits) { float v; memcpy(&v, &bits, 4); return v; }
static inline float load_float(const void *p) { return float_of(load32(p)); }
static inline void store_float(void *p, float v)
{
    uint32_t bits;

    memcpy(&bits, &v, 4);
    store32(p, bits);
}

static inline double load_double(const void *p)
{
    const uint64_t bits = load64(p);
    double v;

    memcpy(&v, &bits, 8);
    return v;
}

/* Converts each 64-bit word of an array from the machine's byte order to little-endian, or back. On
 * a little-endian machine, the function changes nothing. */
static inline void words_le(uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        words[i] = htole64(words[i]);
}

#endif
