/* SPDX-License-Identifier: MIT
 *
 * CRC-64/NVME, and a function that computes the CRC of two adjacent ranges of bytes from the CRC of
 * each range. */
#ifndef BASE_CRC64_H
#define BASE_CRC64_H

#include <stddef.h>
#include <stdint.h>

/* Continues the CRC `crc` of preceding bytes with `data`; `crc` is 0 at the beginning.
 * crc64_nvme(0, "123456789", 9) is 0xae8b14860a799888. `size` may be any size_t. */
uint64_t crc64_nvme(uint64_t crc, const void *data, size_t size);

/* CRC polynomials in the form that crc_combine takes: the lowest bit is the coefficient of the
 * highest power. */
#define CRC64_NVME_POLYNOMIAL 0x9a6c9329ac4bc9b5u
#define CRC32C_POLYNOMIAL 0x82f63b78u

/* Returns the CRC of A followed by B, given the CRC of each and the length of B. `bits` is 32 or
 * 64. */
uint64_t crc_combine(uint64_t polynomial, unsigned bits, uint64_t a, uint64_t b, uint64_t b_bytes);

#endif
