/* SPDX-License-Identifier: MIT
 *
 * MD5 in plain C on general registers. Vector instructions are clearly better only with 16
 * messages, because they take twice as long. The number of lanes is a constant wherever blocks() is
 * inlined, so the compiler removes the loops over lanes. */
#include "base/md5.h"

#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

#define BLOCK ((size_t)64)

/* floor(2^32 x |sin(i + 1)|) */
static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

struct md5_lane {
    uint32_t state[4];
    const uint8_t *at;          /* the part of the message that is not hashed yet */
};

/* RFC 1321's functions F, G, H and I. The two sides of G have no bit in common, so they may be
 * added; the side that does not need b comes first. */
#define F(b, c, d) ((d) ^ ((b) & ((c) ^ (d))))
#define G(b, c, d) (((c) & ~(d)) + ((b) & (d)))
#define H(b, c, d) ((b) ^ (c) ^ (d))
#define I(b, c, d) ((c) ^ ((b) | ~(d)))

#define EACH(l) _Pragma("GCC unroll 4") for (unsigned l = 0; l < lanes; l++)

/* Does step i with message word `word`. */
#define STEP(f, a, b, c, d, i, word, left) \
    EACH(l) { \
        a[l] += load32(lane[l].at + 4 * ((word) % 16)) + sines[i]; \
        a[l] += f(b[l], c[l], d[l]); \
        a[l] = (a[l] << (left) | a[l] >> (32 - (left))) + b[l]; \
    }

/* Does four steps from i on, with the words `first`, `first + stride`, ... */
#define STEPS(f, i, first, stride, left0, left1, left2, left3) \
    STEP(f, a, b, c, d, (i), (first), left0) \
    STEP(f, d, a, b, c, (i) + 1, (first) + (stride), left1) \
    STEP(f, c, d, a, b, (i) + 2, (first) + 2 * (stride), left2) \
    STEP(f, b, c, d, a, (i) + 3, (first) + 3 * (stride), left3)

#define ROUND(f, i, first, stride, ...) \
    STEPS(f, (i), (first), (stride), __VA_ARGS__) \
    STEPS(f, (i) + 4, (first) + 4 * (stride), (stride), __VA_ARGS__) \
    STEPS(f, (i) + 8, (first) + 8 * (stride), (stride), __VA_ARGS__) \
    STEPS(f, (i) + 12, (first) + 12 * (stride), (stride), __VA_ARGS__)

static inline __attribute__((always_inline))
void blocks(struct md5_lane *lane, const unsigned lanes, size_t count)
{
    uint32_t a[MD5_LANES], b[MD5_LANES], c[MD5_LANES], d[MD5_LANES];

    for (; count != 0; count--) {
        EACH(l) {
            a[l] = lane[l].state[0];
            b[l] = lane[l].state[1];
            c[l] = lane[l].state[2];
            d[l] = lane[l].state[3];
        }
        ROUND(F, 0, 0, 1, 7, 12, 17, 22)
        ROUND(G, 16, 1, 5, 5, 9, 14, 20)
        ROUND(H, 32, 5, 3, 4, 11, 16, 23)
        ROUND(I, 48, 0, 7, 6, 10, 15, 21)
        EACH(l) {
            lane[l].state[0] += a[l];
            lane[l].state[1] += b[l];
            lane[l].state[2] += c[l];
            lane[l].state[3] += d[l];
            lane[l].at += BLOCK;
        }
    }
}

/* Kept out of line so that each variant has all registers for itself. */
static __attribute__((noinline)) void blocks_of_one(struct md5_lane *lane, size_t count)
{
    blocks(lane, 1, count);
}

static __attribute__((noinline)) void blocks_of_two(struct md5_lane *lane, size_t count)
{
    blocks(lane, 2, count);
}

static __attribute__((noinline)) void blocks_of_three(struct md5_lane *lane, size_t count)
{
    blocks(lane, 3, count);
}

/* Finishes one message of a group: hashes the bytes that remain after the blocks common to the
 * group, then the padding: a bit, zeros, and the length. */
static void finish_lane(struct md5_lane *lane, struct md5_message *m)
{
    const size_t left = m->size - (size_t)(lane->at - (const uint8_t *)m->data);
    const size_t rest = left % BLOCK, tail = rest < BLOCK - 8 ? BLOCK : 2 * BLOCK;
    uint8_t last[2 * BLOCK] = { 0 };

    blocks_of_one(lane, left / BLOCK);
    if (rest != 0)
        memcpy(last, lane->at, rest);
    last[rest] = 0x80;
    store64(last + tail - 8, (uint64_t)m->size * 8);
    lane->at = last;
    blocks_of_one(lane, tail / BLOCK);
    for (unsigned i = 0; i < 4; i++)
        store32((uint8_t *)m->digest + 4 * i, lane->state[i]);
}

static void hash_group(struct md5_message *m, size_t count)
{
    struct md5_lane lane[MD5_LANES];
    size_t common = SIZE_MAX;

    for (size_t i = 0; i < count; i++) {
        lane[i] = (struct md5_lane){ { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476 },
                                     m[i].data };
        common = MIN(common, m[i].size / BLOCK);
    }
    if (count == 3)
        blocks_of_three(lane, common);
    else if (count == 2)
        blocks_of_two(lane, common);
    for (size_t i = 0; i < count; i++)
        finish_lane(&lane[i], &m[i]);
}

void md5_hash(struct md5_message *messages, size_t count)
{
    for (size_t i = 0; i < count; i += MD5_LANES)
        hash_group(messages + i, MIN(count - i, (size_t)MD5_LANES));
}
