/* SPDX-License-Identifier: MIT
 *
 * CRC-32C (Castagnoli), computed by ISA-L, which chooses the fastest implementation for the CPU at
 * run time. This file also has the masked form of the CRC, which TFRecord files store. */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues the CRC `crc` of preceding bytes with `data`; `crc` is 0 at the beginning. crc32c(0,
 * "123456789", 9) is 0xe3069283. `size` may be any size_t. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);

static inline uint32_t crc32c_mask(uint32_t crc)
{
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

#endif
