/* SPDX-License-Identifier: MIT
 *
 * What an ETag says of an object's content.  ETags are as servers give them, with their quotes or
 * without; NULL: there is none. */
#ifndef STORE_ETAG_H
#define STORE_ETAG_H

#include <stdbool.h>
#include <stdint.h>

#define MD5_BYTES 16

/* What store_entry.stamp is; 0 for NULL. */
uint64_t etag_stamp(const char *etag);

/* Whether another content has another one: weak ones stand for what means the same. */
bool etag_is_strong(const char *etag);

/* An ETag of 32 digits is an MD5, but for some ways of encryption (store_etag_is_md5).  False: it
 * is of another form. */
bool etag_md5(const char *etag, uint8_t md5[MD5_BYTES]);

#endif
