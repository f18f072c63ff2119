/* SPDX-License-Identifier: MIT
 *
 * CRC-64/NVME, and the CRC of two pieces that lie behind each other from theirs. */
#ifndef BASE_CRC64_H
#define BASE_CRC64_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of data after bytes whose CRC is `crc` (0 for none): crc64_nvme(0, "123456789", 9) is
 * 0xae8b14860a799888.  `size` may be any size_t. */
uint64_t crc64_nvme(uint64_t crc, const void *data, size_t size);

/* The polynomials, as crc_combine takes them: the lowest bit is that of the highest power. */
#define CRC64_NVME_POLYNOMIAL 0x9a6c9329ac4bc9b5u
#define CRC32C_POLYNOMIAL 0x82f63b78u

/* The CRC of A and B behind it, by the CRC of each and the length of B; `bits` is 32 or 64. */
uint64_t crc_combine(uint64_t polynomial, unsigned bits, uint64_t a, uint64_t b, uint64_t b_bytes);

#endif
