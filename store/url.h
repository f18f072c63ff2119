/* SPDX-License-Identifier: MIT
 *
 * URLs: percent-encoding, and splitting s3:// and http(s):// names. The functions have no side
 * effects.
 *
 * In s3://BUCKET/KEY the key is used byte for byte, as in other tools: a `%`, `+` or `?` in it
 * means that character. An http URL is already encoded. Only characters that a request line may not
 * contain are encoded here. */
#ifndef STORE_URL_H
#define STORE_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define URL_KEY_MOST 1024       /* S3's own limit for the bytes of a key */

/* Returns whether the character is one of RFC 3986's unreserved characters. The result does not
 * depend on the locale. */
static inline bool url_is_unreserved(unsigned char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           c == '-' || c == '_' || c == '.' || c == '~';
}

/* Appends `text`, and percent-encodes all its characters except the unreserved ones. '/' is not
 * encoded if `keep_slash` is set. No NUL is appended. */
int url_encode(struct buf *out, const char *text, bool keep_slash, struct sheaf_error *err);

/* Decodes a percent-encoded text in place. Returns false if a `%` is not followed by two
 * hexadecimal digits, or if a NUL is encoded. */
bool url_decode(char *text, bool plus_is_space);

struct url {
    bool tls;
    char *host;         /* "example.org", "127.0.0.1", "[::1]" */
    uint16_t port;      /* 0: the scheme's own */
    /* The path of the URL from its first slash on, including the query; at least "/". */
    char *path;
};

/* Splits an http:// or https:// URL into its parts. Drops a fragment. Refuses a user name and a
 * password. */
int url_parse(const char *text, struct url *url, struct sheaf_error *err);
void url_free(struct url *url);

/* Appends "host" or "host:port" for the Host header. */
int url_append_host(struct buf *out, const struct url *url, struct sheaf_error *err);

/* Splits s3://BUCKET[/KEY] into two allocated strings. The key may be empty. The bucket may be an
 * access point's ARN, which this function does not check. */
int url_parse_s3(const char *text, char **bucket, char **key, struct sheaf_error *err);

/* Returns the length of an http URL without its query. The query may hold a signature, so it must
 * not appear in messages. */
int url_printable_size(const char *text);

#endif
