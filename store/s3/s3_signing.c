/* SPDX-License-Identifier: MIT
 *
 * Signs the attempts of requests to AWS. An attempt may wait before it begins. It is signed at the
 * moment when it begins, so that its date is right and its credentials are valid. */
#include "store/s3/s3_signing.h"

#include <stdio.h>
#include <string.h>

#include "store/s3/credentials.h"
#include "store/s3/sigv4.h"

#define AUTHORIZATION_MOST 4096

_Static_assert(REQUEST_HASH_SIZE == SIGV4_HASH_SIZE, "a request has room for the hash");

/* Computes the hash of the body for the signature. If the request has a body and uses TLS, computes
 * no hash: the signature then does not cover the body, because TLS already protects the body in
 * transit. */
static int hash_body(struct request *r, struct sheaf_error *err)
{
    const struct target *t = r->target;

    if (t->credentials == NULL)
        return SHEAF_OK;
    if (r->http.body_size != 0 && strncmp(t->origin, "https:", 6) == 0) {
        snprintf(r->payload_hash, sizeof(r->payload_hash), SIGV4_UNSIGNED);
        return SHEAF_OK;
    }
    return sigv4_hash(r->http.body_size != 0 ? r->http.body : "", r->http.body_size,
                      r->payload_hash, err);
}

/* Adds the header Authorization to an attempt. Its signature covers the host and all other headers
 * of the attempt. */
static int add_authorization(struct request *r, const char *date, struct sheaf_error *err)
{
    const struct target *t = r->at;
    struct sigv4_pair pairs[HTTP_HEADERS_MOST + 1];
    struct buf path = BUF_INIT(SIZE_MAX), value = BUF_INIT(AUTHORIZATION_MOST);
    const struct sigv4_signer signer = {
        .access_key_id = r->credentials->access_key_id,
        .secret_access_key = r->credentials->secret_access_key,
        .region = t->region, .service = t->service, .date = date,
    };
    struct sigv4_request request = {
        .query = r->query != NULL ? r->query : "", .headers = pairs,
        .header_count = r->http.header_count + 1, .payload_hash = r->payload_hash,
    };
    static const char *const methods[] = { [HTTP_GET] = "GET", [HTTP_HEAD] = "HEAD",
        [HTTP_PUT] = "PUT", [HTTP_POST] = "POST", [HTTP_DELETE] = "DELETE" };
    int code;

    pairs[0] = (struct sigv4_pair){ "host", t->host };
    for (size_t i = 0; i < r->http.header_count; i++)
        pairs[i + 1] = (struct sigv4_pair){ r->http.headers[i].name, r->http.headers[i].value };
    code = buf_printf(&path, err, "%s%s", t->prefix != NULL ? t->prefix : "", r->path);
    if (code == SHEAF_OK)
        code = buf_append(&path, "", 1, err);
    request.method = methods[r->http.method];
    request.path = (const char *)path.data;
    if (code == SHEAF_OK)
        code = sigv4_authorization(&request, &signer, &value, err);
    if (code == SHEAF_OK)
        code = buf_append(&value, "", 1, err);
    if (code == SHEAF_OK)
        code = http_add_header(&r->http, "authorization", (const char *)value.data, err);
    buf_free(&path);
    buf_free(&value);
    return code;
}

static void end_signing(struct request *r)
{
    credentials_release(r->credentials);
    r->credentials = NULL;
}

static int sign_attempt(struct request *r, struct sheaf_error *err)
{
    char date[SIGV4_DATE_SIZE];
    int code;

    end_signing(r);             /* the credentials of the last attempt may have expired */
    if (r->target->credentials == NULL)
        return SHEAF_OK;
    code = credentials_get(r->target->credentials, &r->credentials, err);
    sigv4_date(credentials_now_ms() / 1000, date);
    if (code == SHEAF_OK)
        code = http_add_header(&r->http, "x-amz-date", date, err);
    if (code == SHEAF_OK)
        code = http_add_header(&r->http, "x-amz-content-sha256", r->payload_hash, err);
    if (code == SHEAF_OK && r->credentials->session_token != NULL)
        code = http_add_header(&r->http, r->at->token_header, r->credentials->session_token,
                               err);
    return code == SHEAF_OK ? add_authorization(r, date, err) : code;
}

const struct request_signing s3_signing = { hash_body, sign_attempt, end_signing };
