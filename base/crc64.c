/* SPDX-License-Identifier: MIT
 *
 * Computes CRC-64/NVME without ISA-L, because versions of ISA-L before 2.31 cannot compute it.
 *
 * On x86, the code folds 64 bytes at a time by carry-less multiplication. On other machines, and
 * for the end of an input, it uses tables.
 *
 * A CRC is the remainder of a division of polynomials over GF(2). A 64-bit word stands for a
 * polynomial: its lowest bit is the coefficient of the highest power. A "raw" CRC is not inverted
 * at the beginning and at the end. */
#include "base/crc64.h"

#include "base/bytes.h"

/* ---- Tables ---------------------------------------------------------------------------------- */

/* Gives `power` if bit `b` of the byte `v` is set, otherwise 0. ENTRY XORs the results for the
 * eight bits of a byte, because the table entry for a byte is the XOR of the entries for its single
 * bits. */
#define BIT(v, b, power) ((v) >> (b) & 1 ? (power) : 0)
#define ENTRY(v, a, b, c, d, e, f, g, h)                                                        \
    (BIT(v, 0, a) ^ BIT(v, 1, b) ^ BIT(v, 2, c) ^ BIT(v, 3, d) ^ BIT(v, 4, e) ^ BIT(v, 5, f) ^  \
     BIT(v, 6, g) ^ BIT(v, 7, h))
#define FOUR(v, ...)                                                                            \
    ENTRY(v, __VA_ARGS__), ENTRY((v) + 1, __VA_ARGS__), ENTRY((v) + 2, __VA_ARGS__),            \
    ENTRY((v) + 3, __VA_ARGS__)
#define SIXTEEN(v, ...)                                                                         \
    FOUR(v, __VA_ARGS__), FOUR((v) + 4, __VA_ARGS__), FOUR((v) + 8, __VA_ARGS__),               \
    FOUR((v) + 12, __VA_ARGS__)
#define SIXTY_FOUR(v, ...)                                                                      \
    SIXTEEN(v, __VA_ARGS__), SIXTEEN((v) + 16, __VA_ARGS__), SIXTEEN((v) + 32, __VA_ARGS__),    \
    SIXTEEN((v) + 48, __VA_ARGS__)
#define TABLE(...)                                                                              \
    { SIXTY_FOUR(0, __VA_ARGS__), SIXTY_FOUR(64, __VA_ARGS__), SIXTY_FOUR(128, __VA_ARGS__),    \
      SIXTY_FOUR(192, __VA_ARGS__) }

/* tables[k][v] is the contribution of the byte v to the CRC of an input in which k more bytes
 * follow v. */
static const uint64_t tables[8][256] = {
    TABLE(0x7f6ef0c830358979u, 0xfedde190606b12f2u, 0xc962e5739841b68fu, 0xa61cecb46814fe75u,
          0x78e0ff3b88be6f81u, 0xf1c1fe77117cdf02u, 0xd75adabd7a6e2d6fu, 0x9a6c9329ac4bc9b5u),
    TABLE(0x8776a97d73bddf69u, 0x3a3474a9bfec2db9u, 0x7468e9537fd85b72u, 0xe8d1d2a6ffb0b6e4u,
          0xe57a831ea7f6fea3u, 0xfe2c206e177a6e2du, 0xc881668f76634f31u, 0xa5dbeb4db4510d09u),
    TABLE(0xff6e4e1f4e4038beu, 0xca05ba6dc417e217u, 0xa0d25288d0b85745u, 0x757d8342f9e73de1u,
          0xeafb0685f3ce7bc2u, 0xe12f2b58bf0b64efu, 0xf68770e226815ab5u, 0xd9d7c79715952601u),
    TABLE(0x8211147cbaf96306u, 0x30fb0eaa2d655567u, 0x61f61d545acaaaceu, 0xc3ec3aa8b595559cu,
          0xb301530233bd3853u, 0x52db80573fede3cdu, 0xa5b700ae7fdbc79au, 0x7fb7270fa7201c5fu),
    TABLE(0x373d15f784905d1eu, 0x6e7a2bef0920ba3cu, 0xdcf457de12417478u, 0x8d3189ef7c157b9bu,
          0x2eba358da0bd645du, 0x5d746b1b417ac8bau, 0xbae8d63682f59174u, 0x41088a3e5d7cb183u),
    TABLE(0xe9742a79ef04a5d4u, 0xe63172a0869ed8c3u, 0xf8bbc31255aa22edu, 0xc5aea077f3c3d6b1u,
          0xbf8466bcbf103e09u, 0x4bd1eb2a26b7ef79u, 0x97a3d6544d6fdef2u, 0x1b9e8afbc2482e8fu),
    TABLE(0xfc5d27f6bf353971u, 0xcc6369be26fde189u, 0xac1ff52f156c5079u, 0x6ce6cc0d724f3399u,
          0xd9cd981ae49e6732u, 0x8742166691ab5d0fu, 0x3a5d0a9e7bc12975u, 0x74ba153cf78252eau),
    TABLE(0x21e9761e252621acu, 0x43d2ec3c4a4c4358u, 0x87a5d878949886b0u, 0x3b9296a271a69e0bu,
          0x77252d44e34d3c16u, 0xee4a5a89c69a782cu, 0xe84d9340d5a36333u, 0xe44200d2f3d1550du),
};

static uint64_t raw_by_tables(uint64_t crc, const uint8_t *p, size_t size)
{
    for (; size >= 8; size -= 8, p += 8) {
        const uint64_t word = crc ^ load64(p);

        crc = 0;
        for (unsigned k = 0; k < 8; k++)
            crc ^= tables[7 - k][word >> 8 * k & 0xff];
    }
    for (; size != 0; size--, p++)
        crc = crc >> 8 ^ tables[0][(crc ^ *p) & 0xff];
    return crc;
}

/* ---- Folding --------------------------------------------------------------------------------- */

#ifdef __x86_64__
#include <immintrin.h>

#define FOLD_LEAST ((size_t)128)

/* Factors for fold(), which moves a 16-byte value D bits forward. D is 512 in by_64_bytes, and 128
 * in by_16_bytes. The first word of the value is multiplied by x^(D + 63), and the second word by
 * x^(D - 1), both modulo the polynomial. These exponents are one lower than D + 64 and D, because
 * the product of two words with reversed bits is one power too high. */
static const uint64_t by_64_bytes[2] = { 0x0c32cdb31e18a84au, 0x62242240ace5045au };
static const uint64_t by_16_bytes[2] = { 0xeadc41fd2ba3d420u, 0x21e9761e252621acu };

/* Folds the 16-byte value `a` into the value `b`, which comes D bits later in the input: multiplies
 * `a` by x^D and adds the product to `b`. This does not change the CRC of the input. */
__attribute__((target("pclmul,sse2")))
static inline __m128i fold(__m128i a, __m128i b, __m128i powers)
{
    return _mm_xor_si128(b, _mm_xor_si128(_mm_clmulepi64_si128(a, powers, 0x00),
                                          _mm_clmulepi64_si128(a, powers, 0x11)));
}

__attribute__((target("pclmul,sse2")))
static uint64_t raw_by_folding(uint64_t crc, const uint8_t *p, size_t size)
{
    const __m128i far = _mm_loadu_si128((const __m128i *)by_64_bytes);
    const __m128i near = _mm_loadu_si128((const __m128i *)by_16_bytes);
    uint8_t rest[16];
    __m128i x[4];

    for (int i = 0; i < 4; i++)
        x[i] = _mm_loadu_si128((const __m128i *)p + i);
    x[0] = _mm_xor_si128(x[0], _mm_cvtsi64_si128((long long)crc));
    for (p += 64, size -= 64; size >= 64; p += 64, size -= 64)
        for (int i = 0; i < 4; i++)
            x[i] = fold(x[i], _mm_loadu_si128((const __m128i *)p + i), far);
    for (int i = 1; i < 4; i++)
        x[i] = fold(x[i - 1], x[i], near);
    _mm_storeu_si128((__m128i *)rest, x[3]);
    return raw_by_tables(raw_by_tables(0, rest, sizeof(rest)), p, size);
}
#endif

uint64_t crc64_nvme(uint64_t crc, const void *data, size_t size)
{
#ifdef __x86_64__
    if (size >= FOLD_LEAST && __builtin_cpu_supports("pclmul"))
        return ~raw_by_folding(~crc, data, size);
#endif
    return ~raw_by_tables(~crc, data, size);
}

/* ---- Combining ------------------------------------------------------------------------------- */

/* Returns the product of two polynomials modulo a third. */
static uint64_t multiply(uint64_t polynomial, unsigned bits, uint64_t a, uint64_t b)
{
    uint64_t product = 0;

    for (uint64_t power = (uint64_t)1 << (bits - 1); power != 0; power >>= 1) {
        if (a & power)
            product ^= b;
        b = b >> 1 ^ (b & 1 ? polynomial : 0);
    }
    return product;
}

uint64_t crc_combine(uint64_t polynomial, unsigned bits, uint64_t a, uint64_t b, uint64_t b_bytes)
{
    uint64_t square = (uint64_t)1 << (bits - 1 - 8);    /* x^8: one byte */

    for (; b_bytes != 0; b_bytes >>= 1) {
        if (b_bytes & 1)
            a = multiply(polynomial, bits, square, a);
        square = multiply(polynomial, bits, square, square);
    }
    return a ^ b;
}
