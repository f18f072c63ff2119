/* SPDX-License-Identifier: MIT
 *
 * URLs: percent-encoding, and taking s3:// and http(s):// names apart.  Pure.
 *
 * In s3://BUCKET/KEY the key is taken as it is, byte for byte, as other tools take it: a `%`, `+`
 * or `?` in it is that character.  An http URL is already encoded; only what may not stand in a
 * request line at all is encoded here. */
#ifndef STORE_URL_H
#define STORE_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define URL_KEY_MOST 1024       /* bytes of a key: S3's own limit */

/* RFC 3986's unreserved characters, in any locale. */
static inline bool url_is_unreserved(unsigned char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           c == '-' || c == '_' || c == '.' || c == '~';
}

/* Appends `text` with all but the unreserved characters percent-encoded, and '/' as it is if
 * `keep_slash`.  No NUL is appended. */
int url_encode(struct buf *out, const char *text, bool keep_slash, struct sheaf_error *err);

/* Decodes in place.  False for a `%` without two hexadecimal digits, or an encoded NUL. */
bool url_decode(char *text, bool plus_is_space);

struct url {
    bool tls;
    char *host;         /* "example.org", "127.0.0.1", "[::1]" */
    uint16_t port;      /* 0: the scheme's own */
    char *path;         /* from the first slash on, query included; at least "/" */
};

/* Takes http:// and https:// apart.  A fragment is dropped; a user name and password in it are
 * refused. */
int url_parse(const char *text, struct url *url, struct sheaf_error *err);
void url_free(struct url *url);

/* Appends "host" or "host:port", as the Host header has it. */
int url_append_host(struct buf *out, const struct url *url, struct sheaf_error *err);

/* s3://BUCKET[/KEY] -> both in memory of their own; the key may be empty.  A bucket may be the ARN
 * of an access point, which is not checked here. */
int url_parse_s3(const char *text, char **bucket, char **key, struct sheaf_error *err);

/* The bytes of an http URL before its query, which may hold a signature and is not for messages. */
int url_printable_size(const char *text);

#endif
