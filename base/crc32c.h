/* SPDX-License-Identifier: MIT
 *
 * CRC-32C (Castagnoli) over ISA-L, which picks the fastest kernel of the CPU at run time, and
 * TFRecord's masked form of it. */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of data after bytes whose CRC is `crc` (0 for none): crc32c(0, "123456789", 9) is
 * 0xe3069283.  `size` may be any size_t. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);

static inline uint32_t crc32c_mask(uint32_t crc)
{
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

#endif
