/* SPDX-License-Identifier: MIT
 *
 * Maps codes of libcurl and HTTP statuses to error codes of Sheaf, and decides whether a retry can
 * help. For S3, s3/aws_error.c calls this file only if the response has no known error code of
 * AWS. */
#include <curl/curl.h>

#include "base/error.h"
#include "store/http.h"
#include "store/trust.h"

enum http_failure http_failure_of_curl(int curl_code)
{
    switch (curl_code) {
    case CURLE_OK:
        return HTTP_ANSWERED;
    case CURLE_COULDNT_RESOLVE_HOST: case CURLE_COULDNT_RESOLVE_PROXY:
        return HTTP_NO_HOST;
    case CURLE_COULDNT_CONNECT: case CURLE_OPERATION_TIMEDOUT:
        return HTTP_NO_CONNECTION;
    case CURLE_PEER_FAILED_VERIFICATION: case CURLE_SSL_CERTPROBLEM: case CURLE_SSL_ISSUER_ERROR:
        return HTTP_NOT_TRUSTED;
    case CURLE_SSL_CACERT_BADFILE:
        return HTTP_NO_CA;
    case CURLE_PARTIAL_FILE: case CURLE_RECV_ERROR: case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING: case CURLE_SSL_CONNECT_ERROR: case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING: case CURLE_SEND_FAIL_REWIND: case CURLE_UPLOAD_FAILED:
        return HTTP_BROKEN;
    case CURLE_OUT_OF_MEMORY:
        return HTTP_NO_MEMORY;
    case CURLE_UNSUPPORTED_PROTOCOL:
        return HTTP_NOT_HTTP;
    default:
        return HTTP_FAILED;
    }
}

static bool failure_may_pass(enum http_failure failure)
{
    return failure == HTTP_NO_HOST || failure == HTTP_NO_CONNECTION || failure == HTTP_BROKEN ||
           failure == HTTP_STALLED || failure == HTTP_LATE || failure == HTTP_NOT_HTTP;
}

bool http_may_pass(const struct http_exchange *x)
{
    if (x->failure == HTTP_PROXY_REFUSED)
        return http_status_may_pass(x->proxy_status);
    return x->failure == HTTP_ANSWERED ? http_status_may_pass(x->status)
                                       : failure_may_pass(x->failure);
}

/* Returns whether a status is temporary. 417 is temporary: Sheaf sends no header Expect, so this
 * status comes from a faulty connection or proxy. 520 to 527 are temporary: a content delivery
 * network sends them if it gets no response from the server. 507 (no space left) is permanent. */
bool http_status_may_pass(int status)
{
    switch (status) {
    case 408: case 417: case 425: case 429:
    case 500: case 502: case 503: case 504:
        return true;
    default:
        return status >= 520 && status <= 527;
    }
}

static int status_error(const struct http_exchange *x, const char *what, struct sheaf_error *err)
{
    switch (x->status) {
    case 401: case 403:
        return err_set(err, SHEAF_ERR_ACCESS, "%s: refused (HTTP status %d)", what, x->status);
    case 404: case 410:
        return err_set(err, SHEAF_ERR_NOT_FOUND, "%s: no such object (HTTP status %d)", what,
                       x->status);
    case 405: case 501:
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: the server does not support it (HTTP "
                       "status %d)", what, x->status);
    case 407:
        return err_set(err, SHEAF_ERR_NETWORK, "%s: the proxy refused the request (HTTP status "
                       "407): check the proxy's user name and password", what);
    case 412:
        return err_set(err, SHEAF_ERR_CHANGED, "%s: has changed since (HTTP status 412)", what);
    default:
        return err_set(err, SHEAF_ERR_NETWORK, "%s: HTTP status %d", what, x->status);
    }
}

int http_error(const struct http_exchange *x, const char *what, struct sheaf_error *err)
{
    const char *detail = x->detail[0] != '\0' ? x->detail : "no details";

    switch (x->failure) {
    case HTTP_ANSWERED:
        return status_error(x, what, err);
    case HTTP_CANCELLED:
        return err_set(err, SHEAF_ERR_INTERRUPTED, "%s: interrupted", what);
    case HTTP_NO_HOST:
        return err_set(err, SHEAF_ERR_NETWORK, "%s: cannot resolve the host name: %s", what,
                       detail);
    case HTTP_NO_CONNECTION:
        return err_set(err, SHEAF_ERR_NETWORK, "%s: cannot connect: %s", what, detail);
    case HTTP_NOT_TRUSTED:
        return err_set(err, SHEAF_ERR_ACCESS, "%s: the server's certificate is not trusted (%s): "
                       "name its CA with AWS_CA_BUNDLE%s", what, detail,
                       x->ca_file == NULL && trust_is_missing() ?
                       ", or install the system's CA certificates" : "");
    case HTTP_NO_CA:
        return err_set(err, SHEAF_ERR_ACCESS, "%s: no CA certificates can be read (%s): check "
                       "AWS_CA_BUNDLE", what, detail);
    case HTTP_BROKEN:
        return err_set(err, SHEAF_ERR_NETWORK, "%s: the connection broke: %s", what, detail);
    case HTTP_NOT_HTTP:
        return err_set(err, SHEAF_ERR_NETWORK, "%s: the response does not begin with an HTTP "
                       "status line (%s): an earlier response on this connection was probably "
                       "longer than its Content-Length", what, detail);
    case HTTP_PROXY_REFUSED:
        return err_set(err, SHEAF_ERR_NETWORK, "%s: the proxy refused the connection (HTTP status "
                       "%d to CONNECT): check the proxy's %s", what, x->proxy_status,
                       x->proxy_status == 407 ? "user name and password" : "rules and address");
    case HTTP_STALLED:
        return err_set(err, SHEAF_ERR_NETWORK, "%s: stalled: fewer than %llu byte%s in %.1f s",
                       what, (unsigned long long)x->stall.least_bytes, plural(x->stall.least_bytes),
                       (double)x->stall.limit_ns / 1e9);
    case HTTP_LATE:
        return err_set(err, SHEAF_ERR_NETWORK, "%s: no byte in %.1f s, which is late against "
                       "other requests", what, (double)x->quiet_ns / 1e9);
    case HTTP_TOO_LATE:
        return err_set(err, SHEAF_ERR_NETWORK, "%s: the request timed out (SHEAF_REQUEST_TIMEOUT "
                       "sets the limit in seconds)", what);
    case HTTP_HEADERS_TOO_LONG:
        return err_set(err, SHEAF_ERR_CORRUPT, "%s: the response headers do not end", what);
    case HTTP_TOO_LONG:
        return err_set(err, SHEAF_ERR_CORRUPT, "%s: the response is longer than the %zu bytes "
                       "requested", what, x->into != NULL ? x->into_size : x->reply.limit);
    case HTTP_NO_MEMORY:
        return err_set(err, SHEAF_ERR_MEMORY, "%s: no memory for the request or its response",
                       what);
    case HTTP_FORKED:
        return err_set(err, SHEAF_ERR_STATE, "%s: was opened before this process was forked: "
                       "open it again", what);
    case HTTP_NOT_BEGUN: case HTTP_FAILED:
        break;
    }
    return err_set(err, SHEAF_ERR_NETWORK, "%s: %s", what, detail);
}
