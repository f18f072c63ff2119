/* SPDX-License-Identifier: MIT
 *
 * Computes AWS's Signature Version 4 in four steps: canonical request, string to sign, signing key,
 * header Authorization. As S3 requires, the path is percent-encoded once and is not normalised. */
#include "store/s3/sigv4.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/error.h"
#include "store/url.h"

#define DIGEST_SIZE 32
#define CANONICAL_MOST ((size_t)256 << 10)

static void sigv4_hexadecimal(const unsigned char digest[DIGEST_SIZE], char text[SIGV4_HASH_SIZE])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < DIGEST_SIZE; i++) {
        text[2 * i] = digits[digest[i] >> 4];
        text[2 * i + 1] = digits[digest[i] & 15];
    }
    text[2 * DIGEST_SIZE] = '\0';
}

int sigv4_hash(const void *data, size_t size, char hash[SIGV4_HASH_SIZE], struct sheaf_error *err)
{
    unsigned char digest[DIGEST_SIZE];

    if (EVP_Digest(data, size, digest, NULL, EVP_sha256(), NULL) != 1)
        return err_set(err, SHEAF_ERR_MEMORY, "SHA-256 is not available from libcrypto");
    sigv4_hexadecimal(digest, hash);
    return SHEAF_OK;
}

void sigv4_date(int64_t seconds, char date[SIGV4_DATE_SIZE])
{
    const time_t time = (time_t)seconds;
    struct tm tm;

    if (gmtime_r(&time, &tm) == NULL ||
        strftime(date, SIGV4_DATE_SIZE, "%Y%m%dT%H%M%SZ", &tm) != SIGV4_DATE_SIZE - 1)
        snprintf(date, SIGV4_DATE_SIZE, "19700101T000000Z");
}

/* ---- Canonical query ------------------------------------------------------------------------- */

/* Returns the rank of a byte in the order of percent-encoded texts. A byte that must be encoded has
 * the rank of '%', because its encoded form begins with '%'. Such bytes are ordered among each
 * other by their values. */
static int encoded_order(unsigned char c)
{
    if (url_is_unreserved(c))
        return c << 8;
    return c == '\0' ? 0 : ('%' << 8) + c;
}

static int encoded_compare(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b)
        a++, b++;
    return encoded_order((unsigned char)*a) - encoded_order((unsigned char)*b);
}

static int pair_compare(const void *a, const void *b)
{
    const struct sigv4_pair *x = a, *y = b;
    const int order = encoded_compare(x->name, y->name);

    return order != 0 ? order : encoded_compare(x->value, y->value);
}

int sigv4_query(struct sigv4_pair *pairs, size_t count, struct buf *out, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (count != 0)
        qsort(pairs, count, sizeof(*pairs), pair_compare);
    for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
        if (i != 0)
            code = buf_append(out, "&", 1, err);
        if (code == SHEAF_OK)
            code = url_encode(out, pairs[i].name, false, err);
        if (code == SHEAF_OK)
            code = buf_append(out, "=", 1, err);
        if (code == SHEAF_OK)
            code = url_encode(out, pairs[i].value, false, err);
    }
    return code;
}

/* ---- Canonical request ----------------------------------------------------------------------- */

/* Sorts the headers by name, and ignores the case of letters. Headers with equal names keep their
 * order. */
static void sort_headers(const struct sigv4_request *r, const struct sigv4_pair **sorted)
{
    for (size_t i = 0; i < r->header_count; i++) {
        size_t at = i;

        for (; at > 0 && strcasecmp(sorted[at - 1]->name, r->headers[i].name) > 0; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = &r->headers[i];
    }
}

static int append_lower(struct buf *out, const char *name, struct sheaf_error *err)
{
    int code = buf_reserve(out, strlen(name), err);

    if (code == SHEAF_OK)
        for (; *name != '\0'; name++)
            out->data[out->size++] = (uint8_t)tolower((unsigned char)*name);
    return code;
}

/* Appends the value of a header. Removes blanks at the ends of the value, and replaces several
 * blanks in a row by one blank. */
static int append_trimmed(struct buf *out, const char *value, struct sheaf_error *err)
{
    int code = buf_reserve(out, strlen(value) + 1, err);
    bool blank = false, any = false;

    if (code != SHEAF_OK)
        return code;
    for (; *value != '\0'; value++) {
        if (strchr(" \t\r\n", *value) != NULL) {
            blank = any;
            continue;
        }
        if (blank)
            out->data[out->size++] = ' ';
        out->data[out->size++] = (uint8_t)*value;
        blank = false;
        any = true;
    }
    return SHEAF_OK;
}

/* Returns whether header `i` has the same name as the header before it. Headers with the same name
 * are signed as one header, with their values joined by ','. */
static bool repeats(const struct sigv4_pair *const *sorted, size_t i)
{
    return i != 0 && strcasecmp(sorted[i - 1]->name, sorted[i]->name) == 0;
}

static int append_signed_names(struct buf *out, const struct sigv4_pair *const *sorted,
                               size_t count, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
        if (repeats(sorted, i))
            continue;
        if (i != 0)
            code = buf_append(out, ";", 1, err);
        if (code == SHEAF_OK)
            code = append_lower(out, sorted[i]->name, err);
    }
    return code;
}

static int append_headers(struct buf *out, const struct sigv4_pair *const *sorted, size_t count,
                          struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
        const bool more = i + 1 < count && repeats(sorted, i + 1);

        if (!repeats(sorted, i)) {
            code = append_lower(out, sorted[i]->name, err);
            if (code == SHEAF_OK)
                code = buf_append(out, ":", 1, err);
        }
        if (code == SHEAF_OK)
            code = append_trimmed(out, sorted[i]->value, err);
        if (code == SHEAF_OK)
            code = buf_append(out, more ? "," : "\n", 1, err);
    }
    return code;
}

static int check_request(const struct sigv4_request *r, struct sheaf_error *err)
{
    if (r->header_count > SIGV4_HEADERS_MOST)
        return err_set(err, SHEAF_ERR_LIMIT, "%zu headers to sign, the limit is %d",
                       r->header_count, SIGV4_HEADERS_MOST);
    return SHEAF_OK;
}

int sigv4_canonical(const struct sigv4_request *r, struct buf *out, struct sheaf_error *err)
{
    const struct sigv4_pair *sorted[SIGV4_HEADERS_MOST];
    int code = check_request(r, err);

    if (code != SHEAF_OK)
        return code;
    sort_headers(r, sorted);
    code = buf_printf(out, err, "%s\n%s\n%s\n", r->method, r->path, r->query);
    if (code == SHEAF_OK)
        code = append_headers(out, sorted, r->header_count, err);
    if (code == SHEAF_OK)
        code = buf_append(out, "\n", 1, err);
    if (code == SHEAF_OK)
        code = append_signed_names(out, sorted, r->header_count, err);
    if (code == SHEAF_OK)
        code = buf_printf(out, err, "\n%s", r->payload_hash);
    return code;
}

/* ---- Signature ------------------------------------------------------------------------------- */

static int hmac(unsigned char key[EVP_MAX_MD_SIZE], size_t key_size, const char *text,
                struct sheaf_error *err)
{
    unsigned char out[EVP_MAX_MD_SIZE];
    unsigned int size = 0;

    if (HMAC(EVP_sha256(), key, (int)key_size, (const unsigned char *)text, strlen(text), out,
             &size) == NULL || size != DIGEST_SIZE)
        return err_set(err, SHEAF_ERR_MEMORY, "HMAC-SHA-256 is not available from libcrypto");
    memcpy(key, out, DIGEST_SIZE);
    OPENSSL_cleanse(out, sizeof(out));
    return SHEAF_OK;
}

/* Signs a text. The signing key is made from the secret key by four HMACs: of the date, the region,
 * the service and a constant. */
static int sigv4_sign(const struct sigv4_signer *s, const char *text,
                      char signature[SIGV4_HASH_SIZE], struct sheaf_error *err)
{
    const char date[9] = { s->date[0], s->date[1], s->date[2], s->date[3], s->date[4],
                           s->date[5], s->date[6], s->date[7], '\0' };
    const char *const steps[] = { date, s->region, s->service, "aws4_request", text };
    unsigned char key[4 + 256 > EVP_MAX_MD_SIZE ? 4 + 256 : EVP_MAX_MD_SIZE];
    size_t key_size = 4 + strlen(s->secret_access_key);
    int code = SHEAF_OK;

    if (key_size > sizeof(key))
        return err_set(err, SHEAF_ERR_LIMIT, "the secret access key is longer than %zu bytes",
                       sizeof(key) - 4);
    memcpy(key, "AWS4", 4);
    memcpy(key + 4, s->secret_access_key, key_size - 4);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && code == SHEAF_OK; i++) {
        code = hmac(key, key_size, steps[i], err);
        key_size = DIGEST_SIZE;
    }
    if (code == SHEAF_OK)
        sigv4_hexadecimal(key, signature);
    OPENSSL_cleanse(key, sizeof(key));
    return code;
}

static int string_to_sign(const struct sigv4_request *r, const struct sigv4_signer *s,
                          const char *scope, struct buf *out, struct sheaf_error *err)
{
    struct buf canonical = BUF_INIT(CANONICAL_MOST);
    char hash[SIGV4_HASH_SIZE];
    int code = sigv4_canonical(r, &canonical, err);

    if (code == SHEAF_OK)
        code = sigv4_hash(canonical.data, canonical.size, hash, err);
    if (code == SHEAF_OK)
        code = buf_printf(out, err, "AWS4-HMAC-SHA256\n%s\n%s\n%s", s->date, scope, hash);
    if (code == SHEAF_OK)
        code = buf_append(out, "", 1, err);
    buf_free(&canonical);
    return code;
}

int sigv4_authorization(const struct sigv4_request *r, const struct sigv4_signer *s,
                        struct buf *out, struct sheaf_error *err)
{
    const struct sigv4_pair *sorted[SIGV4_HEADERS_MOST];
    struct buf text = BUF_INIT(4096);
    char scope[256], signature[SIGV4_HASH_SIZE];
    int code = check_request(r, err);

    if (code != SHEAF_OK)
        return code;
    if (snprintf(scope, sizeof(scope), "%.8s/%s/%s/aws4_request", s->date, s->region,
                 s->service) >= (int)sizeof(scope))
        return err_set(err, SHEAF_ERR_LIMIT, "region \"%.40s...\" is too long", s->region);
    sort_headers(r, sorted);
    code = string_to_sign(r, s, scope, &text, err);
    if (code == SHEAF_OK)
        code = sigv4_sign(s, (const char *)text.data, signature, err);
    if (code == SHEAF_OK)
        code = buf_printf(out, err, "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=",
                          s->access_key_id, scope);
    if (code == SHEAF_OK)
        code = append_signed_names(out, sorted, r->header_count, err);
    if (code == SHEAF_OK)
        code = buf_printf(out, err, ", Signature=%s", signature);
    buf_free(&text);
    return code;
}
