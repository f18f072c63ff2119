/* SPDX-License-Identifier: MIT
 *
 * MD5 (RFC 1321) of several messages side by side.
 *
 * Each step of MD5 needs the result of the step before, so a single message leaves most of a
 * processor's units idle, and two more messages take hardly any additional time. MD5 serves as a
 * checksum of transmitted data, as in S3's ETags. It does not protect against deliberate changes.
 */
#ifndef BASE_MD5_H
#define BASE_MD5_H

#include <stddef.h>

#define MD5_BYTES 16
#define MD5_LANES 3             /* number of messages hashed side by side; more do not fit into
                                   the registers */

struct md5_message {
    const void *data;
    size_t size;
    unsigned char digest[MD5_BYTES];    /* the result */
};

/* Hashes `count` messages. It is fastest if `count` is a multiple of MD5_LANES and all have one
 * size. */
void md5_hash(struct md5_message *messages, size_t count);

#endif
