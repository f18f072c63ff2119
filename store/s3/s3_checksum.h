/* SPDX-License-Identifier: MIT
 *
 * The checksums that S3 verifies and stores: their names in headers and XML, and the computation of
 * an object's checksum from the checksums of its parts. The functions have no side effects. */
#ifndef STORE_S3_S3_CHECKSUM_H
#define STORE_S3_S3_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define S3_CRC_SIZE 13              /* base64 of eight bytes and a NUL */

struct s3_checksum {
    const char *name;               /* as the setting has it: "crc64nvme" */
    const char *word;               /* x-amz-checksum-algorithm: "CRC64NVME" */
    const char *title;              /* for messages: "CRC-64/NVME" */
    const char *header;             /* "x-amz-checksum-crc64nvme" */
    const char *element;            /* of a part, in XML: "ChecksumCRC64NVME" */
    unsigned bits;
    uint64_t polynomial;
    uint64_t (*of)(const void *data, size_t size);
};

extern const struct s3_checksum s3_crc64nvme, s3_crc32c;

/* Returns the checksum with this setting's name, or NULL. */
const struct s3_checksum *s3_checksum_of(const char *name);
/* As headers have it. */
void s3_checksum_text(const struct s3_checksum *kind, uint64_t crc, char text[S3_CRC_SIZE]);
/* Returns the checksum of bytes A followed by bytes B. `whole` is the checksum of A, and `part` the
 * checksum of B. */
uint64_t s3_checksum_add(const struct s3_checksum *kind, uint64_t whole, uint64_t part,
                         uint64_t part_bytes);

/* Computes a checksum of checksums, for stores that compute no checksum of the whole object. It is
 * the checksum of the bytes of the parts' checksums, in order. `nested` is 0 for the first part,
 * and then the result of the previous call. In requests, the final result is written as
 * "TEXT-COUNT": its text, and the number of parts. */
uint64_t s3_checksum_nest(const struct s3_checksum *kind, uint64_t nested, uint64_t part);

#endif
