/* SPDX-License-Identifier: MIT
 *
 * Splits and encodes URLs. Parts of a URL become parts of the request line of HTTP, so every text
 * from outside is checked before it is used. */
#include "store/url.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "store/store.h"

static int append_escaped(struct buf *out, unsigned char c, struct sheaf_error *err)
{
    static const char digits[] = "0123456789ABCDEF";
    const char escaped[3] = { '%', digits[c >> 4], digits[c & 15] };

    return buf_append(out, escaped, sizeof(escaped), err);
}

int url_encode(struct buf *out, const char *text, bool keep_slash, struct sheaf_error *err)
{
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;
        int code;

        if (url_is_unreserved(c) || (c == '/' && keep_slash))
            code = buf_append(out, &c, 1, err);
        else
            code = append_escaped(out, c, err);
        if (code != SHEAF_OK)
            return code;
    }
    return SHEAF_OK;
}

bool url_decode(char *text, bool plus_is_space)
{
    char *out = text;

    for (; *text != '\0'; text++) {
        if (*text == '%') {
            const int high = hex_digit(text[1]);
            const int low = high < 0 ? -1 : hex_digit(text[2]);

            if (low < 0 || high * 16 + low == 0)
                return false;
            *out++ = (char)(high * 16 + low);
            text += 2;
        } else {
            *out++ = *text == '+' && plus_is_space ? ' ' : *text;
        }
    }
    *out = '\0';
    return true;
}

/* ---- http(s):// ------------------------------------------------------------------------------ */

void url_free(struct url *url)
{
    free(url->host);
    free(url->path);
    url->host = url->path = NULL;
}

int url_printable_size(const char *text)
{
    return (int)strcspn(text, "?#");
}

/* "host", "host:80", "[::1]:80" */
static int parse_authority(const char *text, size_t size, struct url *url, struct sheaf_error *err)
{
    const char *end = text + size;
    const char *host_end = text;
    unsigned long port = 0;

    if (memchr(text, '@', size) != NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "a user name or password in a URL is not "
                                                "supported");
    if (size != 0 && *text == '[')
        host_end = memchr(text, ']', size);
    if (host_end == NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "a '[' without ']' in the URL's host");
    while (host_end < end && *host_end != ':')
        host_end++;
    if (host_end == text)
        return err_set(err, SHEAF_ERR_ARGUMENT, "a URL without a host");
    for (const char *c = text; c < host_end; c++)
        if (!url_is_unreserved((unsigned char)*c) && strchr("[]:", *c) == NULL)
            return err_set(err, SHEAF_ERR_ARGUMENT, "byte 0x%02x in the URL's host",
                           (unsigned char)*c);
    for (const char *c = host_end + 1; c < end; c++) {
        if (*c < '0' || *c > '9' || (port = port * 10 + (unsigned long)(*c - '0')) > 65535)
            return err_set(err, SHEAF_ERR_ARGUMENT, "the URL's port is not one of 1 to 65535");
    }
    if (host_end < end && port == 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "the URL's port is not one of 1 to 65535");
    url->port = (uint16_t)port;
    url->host = strndup(text, (size_t)(host_end - text));
    return url->host == NULL ? err_memory(err, size) : SHEAF_OK;
}

/* Reads the path and the query of a URL. Percent-encodes characters that a request line must not
 * contain. */
static int parse_path(const char *text, size_t size, struct url *url, struct sheaf_error *err)
{
    struct buf path = BUF_INIT(3 * size + 2);
    int code = size != 0 && *text == '/' ? SHEAF_OK : buf_append(&path, "/", 1, err);

    for (size_t i = 0; code == SHEAF_OK && i < size; i++) {
        const unsigned char c = (unsigned char)text[i];

        if (c < 0x20 || c == 0x7f)
            code = err_set(err, SHEAF_ERR_ARGUMENT, "control character 0x%02x in a URL", c);
        else if (c == ' ' || c > 0x7f || strchr("\"<>\\^`{|}", c) != NULL)
            code = append_escaped(&path, c, err);
        else
            code = buf_append(&path, &c, 1, err);
    }
    if (code == SHEAF_OK)
        code = buf_append(&path, "", 1, err);
    url->path = (char *)path.data;
    return code;
}

int url_parse(const char *text, struct url *url, struct sheaf_error *err)
{
    size_t authority;
    int code;

    *url = (struct url){ 0 };
    if (strncmp(text, "https://", 8) == 0)
        url->tls = true;
    else if (strncmp(text, "http://", 7) != 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "a URL must begin with http:// or https://");
    text += url->tls ? 8 : 7;
    authority = strcspn(text, "/?#");
    code = parse_authority(text, authority, url, err);
    if (code == SHEAF_OK)
        code = parse_path(text + authority, strcspn(text + authority, "#"), url, err);
    if (code != SHEAF_OK)
        url_free(url);
    return code;
}

int url_append_host(struct buf *out, const struct url *url, struct sheaf_error *err)
{
    int code = buf_append(out, url->host, strlen(url->host), err);

    if (code == SHEAF_OK && url->port != 0 && url->port != (url->tls ? 443 : 80))
        code = buf_printf(out, err, ":%u", url->port);
    return code;
}

/* ---- s3:// ----------------------------------------------------------------------------------- */

static bool is_bucket_name(const char *name, size_t size)
{
    if (size < 3 || size > 63)
        return false;
    for (size_t i = 0; i < size; i++)
        if (!url_is_unreserved((unsigned char)name[i]) || name[i] == '~')
            return false;
    return name[0] != '.' && name[0] != '-';
}

/* Returns the length of "arn:aws:s3:eu-west-1:123456789012:accesspoint/NAME" before a key. */
static size_t arn_size(const char *name)
{
    const char *resource = strstr(name, ":accesspoint/");
    const size_t size = strcspn(name, "/");

    if (resource == NULL || resource + strlen(":accesspoint/") != name + size + 1)
        return size;
    return size + 1 + strcspn(name + size + 1, "/");
}

int url_parse_s3(const char *text, char **bucket, char **key, struct sheaf_error *err)
{
    const struct store_ops *ops = store_of(text, NULL);
    const bool has_bucket = ops != NULL && ops->has_buckets;
    const char *name = has_bucket ? text + strlen(ops->scheme) + strlen("://") : text;
    const bool is_arn = strncmp(name, "arn:", 4) == 0;
    const size_t size = is_arn ? arn_size(name) : strcspn(name, "/");
    const char *rest = name + size + (name[size] == '/');

    *bucket = *key = NULL;
    if (!has_bucket)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: must begin with s3:// or gs://", text);
    if (!is_arn && !is_bucket_name(name, size))
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: invalid bucket name \"%.*s\" (3 to 63 "
                       "letters, digits, '-', '.', '_')", text, (int)(size < 99 ? size : 99), name);
    if (strlen(rest) > URL_KEY_MOST)
        return err_set(err, SHEAF_ERR_LIMIT, "%.100s...: the key has %zu bytes, S3's limit is %d",
                       text, strlen(rest), URL_KEY_MOST);
    *bucket = strndup(name, size);
    *key = strdup(rest);
    if (*bucket != NULL && *key != NULL)
        return SHEAF_OK;
    free(*bucket);
    free(*key);
    *bucket = *key = NULL;
    return err_memory(err, strlen(text));
}
