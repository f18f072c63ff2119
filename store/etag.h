/* SPDX-License-Identifier: MIT
 *
 * Interprets ETags, the versions that web servers give to objects. An ETag is passed as the server
 * sends it, with or without quotes, and with the prefix W/ if it is weak. NULL means that the
 * server has sent none. */
#ifndef STORE_ETAG_H
#define STORE_ETAG_H

#include <stdbool.h>
#include <stdint.h>

#define MD5_BYTES 16

/* Computes the stamp of an object from its ETag. The stamp is a number that is different if the
 * object was replaced. Returns 0 if `etag` is NULL or empty. A weak ETag and a strong ETag with the
 * same text have the same stamp, because a proxy may make the ETag of an object weak in some
 * responses only. */
uint64_t etag_stamp(const char *etag);

/* Returns whether the ETag is strong. A strong ETag always changes with the content of the object,
 * but a weak one ("W/...") may stay the same. Only a strong ETag may be sent in If-Match. */
bool etag_is_strong(const char *etag);

/* Returns the text of an ETag without the prefix W/, which marks a weak ETag. */
const char *etag_without_weak(const char *etag);

/* Reads an ETag of 32 hexadecimal digits as an MD5. Returns false if the ETag has another form. An
 * ETag of this form may still not be an MD5, if the object is encrypted (see store_etag_is_md5). */
bool etag_md5(const char *etag, uint8_t md5[MD5_BYTES]);

#endif
