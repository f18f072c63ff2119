/* SPDX-License-Identifier: MIT
 *
 * URLs: percent-encoding, and splitting names with s3:// and http(s)://. The functions have no side
 * effects.
 *
 * In s3://BUCKET/KEY, the key is taken byte for byte, as other tools do: `%`, `+` and `?` stand for
 * themselves. An http URL is taken as already encoded: only characters that a request line must not
 * contain are percent-encoded. */
#ifndef STORE_URL_H
#define STORE_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define URL_KEY_MOST 1024       /* S3's own limit for the bytes of a key */

/* Returns whether a character is unreserved (RFC 3986): a letter, a digit, '-', '.', '_' or '~'.
 * The result does not depend on the locale. */
static inline bool url_is_unreserved(unsigned char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           c == '-' || c == '_' || c == '.' || c == '~';
}

/* Appends `text` to the buffer without a NUL. Percent-encodes all characters that are not
 * unreserved. If keep_slash is true, '/' is not encoded. */
int url_encode(struct buf *out, const char *text, bool keep_slash, struct sheaf_error *err);

/* Decodes a percent-encoded text in place. Returns false if two hexadecimal digits are missing
 * after a `%`, or if a NUL is encoded. plus_is_space says whether '+' becomes a blank. */
bool url_decode(char *text, bool plus_is_space);

struct url {
    bool tls;
    char *host;         /* "example.org", "127.0.0.1", "[::1]" */
    uint16_t port;      /* 0: the scheme's own */
    /* path of the URL from its first slash on, with the query; at least "/" */
    char *path;
};

/* Splits an http:// or https:// URL into its parts. A fragment is dropped. A URL with a user name
 * or password is refused. */
int url_parse(const char *text, struct url *url, struct sheaf_error *err);
void url_free(struct url *url);

/* Appends "host" or "host:port" for the Host header. */
int url_append_host(struct buf *out, const struct url *url, struct sheaf_error *err);

/* Splits s3://BUCKET[/KEY] into two allocated strings. The key may be empty. The bucket may be the
 * ARN of an access point, which is not checked here. */
int url_parse_s3(const char *text, char **bucket, char **key, struct sheaf_error *err);

/* Returns the length of the part of an http URL that messages may show: the part before the query.
 * The query is not shown, because it may have a signature. */
int url_printable_size(const char *text);

#endif
