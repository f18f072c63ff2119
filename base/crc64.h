/* SPDX-License-Identifier: MIT
 *
 * Computes CRC-64/NVME. Also computes the CRC of two adjacent ranges from the CRC of each range. */
#ifndef BASE_CRC64_H
#define BASE_CRC64_H

#include <stddef.h>
#include <stdint.h>

/* Returns the CRC of some bytes followed by `data`. `crc` is the CRC of the preceding bytes, or 0
 * if there are none. For example, crc64_nvme(0, "123456789", 9) is 0xae8b14860a799888. `size` may
 * be any size_t. */
uint64_t crc64_nvme(uint64_t crc, const void *data, size_t size);

/* Polynomials of CRCs, in the form that crc_combine expects: the lowest bit is the coefficient of
 * the highest power. */
#define CRC64_NVME_POLYNOMIAL 0x9a6c9329ac4bc9b5u
#define CRC32C_POLYNOMIAL 0x82f63b78u

/* Returns the CRC of the bytes A followed by the bytes B. `a` and `b` are the CRCs of A and B, and
 * b_bytes is the length of B. `bits` is the width of the CRC, 32 or 64. */
uint64_t crc_combine(uint64_t polynomial, unsigned bits, uint64_t a, uint64_t b, uint64_t b_bytes);

#endif
