/* SPDX-License-Identifier: MIT
 *
 * The header block of a tar member in the ustar format (POSIX.1-1988), byte for byte. */
#ifndef FORMATS_TAR_HEADER_H
#define FORMATS_TAR_HEADER_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

/* The group name in the header of a tar member that our packer made from a sample's labels. No
 * user's file has this mark, so a reader can tell such members from files. */
#define TAR_LABEL_GROUP "label"

struct tar_header {
    char name[100];
    char mode[8], uid[8], gid[8];
    char size[12], mtime[12];
    char checksum[8];
    char type;
    char link_name[100];
    char magic[6], version[2];
    char user[32], group[32];
    char major[8], minor[8];
    char prefix[155];
    char unused[12];
};

static_assert(sizeof(struct tar_header) == 512, "a tar header is one block");

#ifdef __SSE2__
#include <emmintrin.h>

/* Adds up the bytes of a header block, sixteen at a time. Uses the SIMD instruction that adds up
 * the absolute differences of two operands. Here the second operand is zero, so the result is the
 * sum of the bytes. */
static inline unsigned tar_sum_block(const uint8_t *bytes)
{
    const __m128i zero = _mm_setzero_si128();
    __m128i sums = zero;

    for (size_t i = 0; i < sizeof(struct tar_header); i += sizeof(sums)) {
        __m128i piece;

        memcpy(&piece, bytes + i, sizeof(piece));
        sums = _mm_add_epi64(sums, _mm_sad_epu8(piece, zero));
    }
    return (unsigned)_mm_cvtsi128_si32(sums) +
           (unsigned)_mm_cvtsi128_si32(_mm_srli_si128(sums, 8));
}
#else
/* Adds up the bytes of a header block, eight at a time, in four 16-bit lanes of one word. Each of
 * the 64 words adds two bytes to a lane. So a lane holds at most 128 x 255, which fits into 16
 * bits. */
static inline unsigned tar_sum_block(const uint8_t *bytes)
{
    const uint64_t low = 0x00ff00ff00ff00ff;
    uint64_t lanes = 0;

    for (size_t i = 0; i < sizeof(struct tar_header); i += 8) {
        const uint64_t word = load64(bytes + i);

        lanes += (word & low) + (word >> 8 & low);
    }
    return (unsigned)((lanes & 0xffff) + (lanes >> 16 & 0xffff) + (lanes >> 32 & 0xffff) +
                      (lanes >> 48));
}
#endif

/* Returns the checksum of a tar header: the sum of all its bytes, where the bytes of the field
 * `checksum` count as blanks. */
static inline unsigned tar_checksum(const struct tar_header *h)
{
    unsigned sum = tar_sum_block((const uint8_t *)h);

    for (size_t i = 0; i < sizeof(h->checksum); i++)
        sum += ' ' - (unsigned)(uint8_t)h->checksum[i];
    return sum;
}

#endif
