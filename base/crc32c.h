/* SPDX-License-Identifier: MIT
 *
 * Computes CRC-32C (Castagnoli) with the library ISA-L, which chooses the fastest code for the CPU
 * at run time. Also computes the masked form of this CRC, which TFRecord files store. */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Returns the CRC of some bytes followed by `data`. `crc` is the CRC of the preceding bytes, or 0
 * if there are none. For example, crc32c(0, "123456789", 9) is 0xe3069283. `size` has no upper
 * limit, although ISA-L takes an int. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);

static inline uint32_t crc32c_mask(uint32_t crc)
{
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

#endif
