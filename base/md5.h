/* SPDX-License-Identifier: MIT
 *
 * MD5 (RFC 1321) of several messages side by side.
 *
 * Each step of MD5 needs the result of the step before, so one message leaves most of a processor
 * idle; two more take hardly any time on top.  A checksum of what was sent, as S3's ETags are, and
 * no protection against someone who means harm. */
#ifndef BASE_MD5_H
#define BASE_MD5_H

#include <stddef.h>

#define MD5_BYTES 16
#define MD5_LANES 3             /* messages side by side; more would not fit into the registers */

struct md5_message {
    const void *data;
    size_t size;
    unsigned char digest[MD5_BYTES];    /* the result */
};

/* Best with a multiple of MD5_LANES messages of one size. */
void md5_hash(struct md5_message *messages, size_t count);

#endif
