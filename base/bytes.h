/* SPDX-License-Identifier: MIT
 *
 * Unaligned little-endian loads and stores, and the few attributes and limits that every part
 * of the library shares. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "sheaf is built for little-endian machines"
#endif

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static inline uint32_t load32(const void *p) { uint32_t v; memcpy(&v, p, 4); return v; }
static inline uint64_t load64(const void *p) { uint64_t v; memcpy(&v, p, 8); return v; }
static inline void store32(void *p, uint32_t v) { memcpy(p, &v, 4); }
static inline void store64(void *p, uint64_t v) { memcpy(p, &v, 8); }

#endif
