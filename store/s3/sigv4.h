/* SPDX-License-Identifier: MIT
 *
 * Computes AWS's Signature Version 4. The time and the credentials are arguments, so the functions
 * have no side effects. libcrypto computes the hashes. libcurl's own signatures are not used,
 * because before version 8.9 libcurl does not make the path and the query canonical.
 *
 * The signature covers the exact bytes of the request. So the caller must send the path, the query
 * that sigv4_query has made, and the signed headers exactly as they were signed. */
#ifndef STORE_S3_SIGV4_H
#define STORE_S3_SIGV4_H

#include "base/buf.h"

#define SIGV4_HASH_SIZE 65          /* 64 hexadecimal digits and a NUL */
#define SIGV4_DATE_SIZE 17          /* "20150830T123600Z" and a NUL */
#define SIGV4_HEADERS_MOST 32

#define SIGV4_UNSIGNED "UNSIGNED-PAYLOAD"

struct sigv4_pair {
    const char *name;
    const char *value;
};

struct sigv4_request {
    const char *method;
    const char *path;                   /* percent-encoded, as sent */
    const char *query;                  /* of sigv4_query; "" for none */
    /* headers that the signature covers; "host" must be one of them */
    const struct sigv4_pair *headers;
    size_t header_count;                /* <= SIGV4_HEADERS_MOST */
    const char *payload_hash;           /* hexadecimal SHA-256, or SIGV4_UNSIGNED */
};

struct sigv4_signer {
    const char *access_key_id;
    const char *secret_access_key;
    const char *region;                 /* "us-east-1" */
    const char *service;                /* "s3" */
    const char *date;                   /* SIGV4_DATE_SIZE; also sent as x-amz-date */
};

/* Writes the SHA-256 of `data` as hexadecimal digits. */
int sigv4_hash(const void *data, size_t size, char hash[SIGV4_HASH_SIZE],
               struct sheaf_error *err);

/* Writes a time, in seconds since 1970, in the form of the header x-amz-date. */
void sigv4_date(int64_t seconds, char date[SIGV4_DATE_SIZE]);

/* Appends the canonical query for `count` parameters that are not encoded. The canonical query has
 * the form "name=value&name=value", encoded and sorted. The function also sorts `pairs`. */
int sigv4_query(struct sigv4_pair *pairs, size_t count, struct buf *out, struct sheaf_error *err);

/* Appends the canonical request, whose hash is signed. */
int sigv4_canonical(const struct sigv4_request *request, struct buf *out,
                    struct sheaf_error *err);

/* Appends the value of the Authorization header. */
int sigv4_authorization(const struct sigv4_request *request, const struct sigv4_signer *signer,
                        struct buf *out, struct sheaf_error *err);

#endif
