/* SPDX-License-Identifier: MIT
 *
 * The two kinds. */
#include "store/s3/s3_checksum.h"

#include <openssl/evp.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/crc64.h"

static uint64_t of_crc64(const void *data, size_t size)
{
    return crc64_nvme(0, data, size);
}

static uint64_t of_crc32c(const void *data, size_t size)
{
    return crc32c(0, data, size);
}

const struct s3_checksum s3_crc64nvme = {
    "crc64nvme", "CRC64NVME", "CRC-64/NVME", "x-amz-checksum-crc64nvme", "ChecksumCRC64NVME", 64,
    CRC64_NVME_POLYNOMIAL, of_crc64,
};
const struct s3_checksum s3_crc32c = {
    "crc32c", "CRC32C", "CRC-32C", "x-amz-checksum-crc32c", "ChecksumCRC32C", 32,
    CRC32C_POLYNOMIAL, of_crc32c,
};

const struct s3_checksum *s3_checksum_of(const char *name)
{
    return strcmp(name, s3_crc64nvme.name) == 0 ? &s3_crc64nvme
         : strcmp(name, s3_crc32c.name) == 0 ? &s3_crc32c : NULL;
}

/* Writes the checksum `crc` in big-endian order, as S3 does. Returns the number of bytes
 * written. */
static size_t s3_checksum_bytes_of(const struct s3_checksum *kind, uint64_t crc,
                                   unsigned char bytes[8])
{
    const unsigned size = kind->bits / 8;

    for (unsigned i = 0; i < size; i++)
        bytes[i] = (unsigned char)(crc >> 8 * (size - 1 - i));
    return size;
}

void s3_checksum_text(const struct s3_checksum *kind, uint64_t crc, char text[S3_CRC_SIZE])
{
    unsigned char bytes[8];

    EVP_EncodeBlock((unsigned char *)text, bytes, (int)s3_checksum_bytes_of(kind, crc, bytes));
}

uint64_t s3_checksum_add(const struct s3_checksum *kind, uint64_t whole, uint64_t part,
                         uint64_t part_bytes)
{
    return crc_combine(kind->polynomial, kind->bits, whole, part, part_bytes);
}

uint64_t s3_checksum_nest(const struct s3_checksum *kind, uint64_t nested, uint64_t part)
{
    unsigned char bytes[8];
    const size_t size = s3_checksum_bytes_of(kind, part, bytes);

    return s3_checksum_add(kind, nested, kind->of(bytes, size), size);
}
