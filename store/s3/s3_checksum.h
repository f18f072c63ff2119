/* SPDX-License-Identifier: MIT
 *
 * The kinds of checksums that S3 can check and store: their names in headers and XML. Also computes
 * the checksum of an object from the checksums of its parts. The functions have no side effects. */
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
/* Writes a checksum in base64, the form that it has in headers. */
void s3_checksum_text(const struct s3_checksum *kind, uint64_t crc, char text[S3_CRC_SIZE]);
/* Returns the checksum of the bytes A followed by the bytes B. `whole` is the checksum of A, and
 * `part` the checksum of B. */
uint64_t s3_checksum_add(const struct s3_checksum *kind, uint64_t whole, uint64_t part,
                         uint64_t part_bytes);

/* Adds a part to a checksum of checksums, which is for stores that do not compute the checksum of
 * the whole object. The checksum of checksums covers the bytes of the parts' checksums, in the
 * order of the parts. `part` is the checksum of the part. `nested` is the result for the parts
 * before it, or 0 for the first part. In requests, the final result is written as "TEXT-COUNT",
 * where COUNT is the number of parts. */
uint64_t s3_checksum_nest(const struct s3_checksum *kind, uint64_t nested, uint64_t part);

#endif
