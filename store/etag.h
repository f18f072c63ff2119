/* SPDX-License-Identifier: MIT
 *
 * Interprets ETags. They are given in the form in which servers send them, with or without quotes.
 * NULL means that there is no ETag. */
#ifndef STORE_ETAG_H
#define STORE_ETAG_H

#include <stdbool.h>
#include <stdint.h>

#define MD5_BYTES 16

/* Returns the stamp (a number that differs if the object was replaced) for an ETag, or 0 for
 * NULL. */
uint64_t etag_stamp(const char *etag);

/* Returns whether the server promises that different content always has a different ETag. Weak
 * ETags do not promise this. */
bool etag_is_strong(const char *etag);

/* Reads an ETag of 32 digits as an MD5. With some kinds of encryption, such an ETag is not an MD5
 * (see store_etag_is_md5). Returns false if the ETag has another form. */
bool etag_md5(const char *etag, uint8_t md5[MD5_BYTES]);

#endif
