/* SPDX-License-Identifier: MIT
 *
 * Sets up a libcurl handle for one exchange (an HTTP request and its response), and has the
 * functions that libcurl then calls. These functions only copy and count bytes. If an exchange must
 * fail for a reason that libcurl's result code would not show, these functions set the field
 * `failure` of the exchange. */
#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/workers.h"
#include "store/http.h"
#include "store/proxy.h"

#define MS 1000000ull
/* Sizes in bytes of libcurl's two buffers for an exchange (a request and its response), one for
 * sending and one for receiving. A system call moves at most one buffer. Exchanges with a small
 * body get the smaller size, because many of them may run at once. */
#define BUFFER_BYTES (128L << 10)
#define LARGE_BUFFER_BYTES (512L << 10)
#define LARGE_BYTES ((size_t)4 << 20)       /* of a body */
#define UNSENT_BYTES (256 << 10)
#define CONNECT_MS 10000
#define REDIRECTS_MOST 5L
#define HEADERS_MOST ((size_t)256 << 10)    /* bytes, including headers of redirects and of 1xx */

/* ---- libcurl's callbacks --------------------------------------------------------------------- */

/* Copies the requested range out of a whole object, which the server has sent instead of the range.
 * Skips the bytes before the range. If bytes follow after the range, ends the exchange as
 * HTTP_TOO_LONG. */
static size_t on_whole(struct http_exchange *x, const char *data, size_t size)
{
    const size_t passed = (size_t)MIN((uint64_t)size, x->range_from - x->passed);
    const size_t taken = MIN(size - passed, x->into_size - x->got);

    memcpy((char *)x->into + x->got, data + passed, taken);
    x->passed += passed;
    x->got += taken;
    if (passed + taken == size)
        return size;
    x->failure = HTTP_TOO_LONG;
    return 0;
}

static size_t on_body(char *data, size_t one, size_t size, void *context)
{
    struct http_exchange *x = context;
    long status = 0;
    int code;

    (void)one;
    x->stall.moved_bytes += size;
    curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status == 200 && x->has_range)
        return on_whole(x, data, size);
    if (status / 100 == 2 && x->into != NULL) {
        if (size > x->into_size - x->got) {
            x->failure = HTTP_TOO_LONG;
            return 0;
        }
        memcpy((char *)x->into + x->got, data, size);
        x->got += size;
    } else {
        code = buf_append(&x->reply, data, size, NULL);
        if (code == SHEAF_OK || status / 100 != 2)
            return size;
        x->failure = code == SHEAF_ERR_MEMORY ? HTTP_NO_MEMORY : HTTP_TOO_LONG;
        return 0;
    }
    return size;
}

static size_t on_header(char *data, size_t one, size_t size, void *context)
{
    struct http_exchange *x = context;

    (void)data, (void)one;
    if (x->first_byte_ns == 0)
        x->first_byte_ns = clock_ns() - x->began_ns;
    x->stall.moved_bytes += size;
    x->header_bytes += size;
    if (x->failure == HTTP_ANSWERED && x->header_bytes > HEADERS_MOST)
        x->failure = HTTP_HEADERS_TOO_LONG;
    return x->failure == HTTP_ANSWERED ? size : 0;
}

/* Checks that libcurl sends the query of the URL. If memory is exhausted, libcurl 7.88 leaves out
 * the query, and the response would then be for another request. Request lines for a CONNECT to a
 * proxy are not checked. After a redirect, the request line is compared with the new URL. */
static int on_sent(CURL *easy, curl_infotype type, char *data, size_t size, void *context)
{
    struct http_exchange *x = context;
    const char *end = type == CURLINFO_HEADER_OUT ? memchr(data, '\r', size) : NULL, *url = NULL;

    if (end == NULL || strncmp(data, "CONNECT ", strlen("CONNECT ")) == 0)
        return 0;
    curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &url);
    if (url == NULL || (url[strcspn(url, "?#")] == '?' &&
                        memchr(data, '?', (size_t)(end - data)) == NULL))
        x->failure = HTTP_NO_MEMORY;
    return 0;
}

static size_t on_send(char *data, size_t one, size_t room, void *context)
{
    struct http_exchange *x = context;
    const size_t size = MIN(one * room, x->body_size - x->sent);

    memcpy(data, (const char *)x->body + x->sent, size);
    x->sent += size;
    x->stall.moved_bytes += size;
    return size;
}

/* Moves back to the beginning of the request's body, so that libcurl can send it again. libcurl
 * calls this function if it has sent the body on a kept connection that turned out to be closed. */
static int on_seek(void *context, curl_off_t offset, int origin)
{
    struct http_exchange *x = context;

    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > x->body_size)
        return CURL_SEEKFUNC_FAIL;
    x->sent = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

/* Limits the number of unsent bytes that the kernel accepts for a socket. Otherwise, on a slow
 * link, the kernel would accept megabytes at once and send them for a minute. In this time, the
 * library could not see whether the transfer makes progress. If the kernel does not have this
 * socket option, there is no limit. */
static int http_handle_on_socket(void *context, curl_socket_t fd, curlsocktype purpose)
{
    const int most = UNSENT_BYTES;

    (void)context, (void)purpose;
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most, sizeof(most));
    return CURL_SOCKOPT_OK;
}

/* ---- Setting a handle up --------------------------------------------------------------------- */

/* Sets an option, unless an earlier one has failed. */
#define SET(option, value) \
    do { if (code == CURLE_OK) code = curl_easy_setopt(easy, option, value); } while (0)

static CURLcode set_method(CURL *easy, struct http_exchange *x)
{
    CURLcode code = CURLE_OK;

    switch (x->method) {
    case HTTP_GET:
        SET(CURLOPT_HTTPGET, 1L);
        break;
    case HTTP_HEAD:
        SET(CURLOPT_NOBODY, 1L);
        break;
    case HTTP_PUT:
        SET(CURLOPT_UPLOAD, 1L);
        SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)x->body_size);
        SET(CURLOPT_READFUNCTION, on_send);
        SET(CURLOPT_READDATA, x);
        SET(CURLOPT_SEEKFUNCTION, on_seek);
        SET(CURLOPT_SEEKDATA, x);
        break;
    case HTTP_POST:
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)x->body_size);
        SET(CURLOPT_POSTFIELDS, x->body_size != 0 ? x->body : "");
        break;
    case HTTP_DELETE:
        SET(CURLOPT_CUSTOMREQUEST, "DELETE");
        break;
    }
    return code;
}

/* Sets the proxy for the URL. If the URL needs no proxy but redirects are followed, sets nothing.
 * libcurl then chooses a proxy itself if the server redirects to a URL that needs one. */
static CURLcode set_proxy(CURL *easy, struct http_exchange *x)
{
    const char *proxy = x->no_proxy ? "" : proxy_of(x->url);
    CURLcode code = CURLE_OK;

    x->has_proxy = *proxy != '\0' && strncmp(x->url, "https:", 6) != 0;
    if (*proxy != '\0')
        SET(CURLOPT_PROXY, proxy);
    else if (x->no_proxy || !x->follow)
        SET(CURLOPT_NOPROXY, "*");
    return code;
}

static CURLcode set_connection(CURL *easy, struct http_exchange *x)
{
    CURLcode code = CURLE_OK;
    const uint64_t connect_ms = x->connect_ns != 0 ? x->connect_ns / MS : CONNECT_MS;

    SET(CURLOPT_NOSIGNAL, 1L);
    /* Makes libcurl stop waiting for name servers that do not answer, as soon as a transfer has
     * ended. Without this option, libcurl would go on waiting, and would block all exchanges
     * (requests and their responses) of this thread. */
    SET(CURLOPT_QUICK_EXIT, 1L);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_REDIR_PROTOCOLS_STR, strncmp(x->url, "https:", 6) == 0 ? "https" : "http,https");
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
    SET(CURLOPT_SOCKOPTFUNCTION, http_handle_on_socket);
    SET(CURLOPT_BUFFERSIZE, x->into_size < LARGE_BYTES ? BUFFER_BYTES : LARGE_BUFFER_BYTES);
    SET(CURLOPT_UPLOAD_BUFFERSIZE, x->body_size < LARGE_BYTES ? BUFFER_BYTES : LARGE_BUFFER_BYTES);
    SET(CURLOPT_MAXREDIRS, REDIRECTS_MOST);
    SET(CURLOPT_FOLLOWLOCATION, x->follow ? 1L : 0L);
    SET(CURLOPT_FRESH_CONNECT, x->is_fresh ? 1L : 0L);
    if (x->ca_file != NULL)
        SET(CURLOPT_CAINFO, x->ca_file);
    return code == CURLE_OK ? set_proxy(easy, x) : code;
}

static bool add_header_line(struct http_exchange *x, const char *name, const char *value)
{
    struct curl_slist *list;
    char *line;

    /* For libcurl, the line "Name;" means a header with an empty value, and the line "Name:" means
     * that libcurl must not send the header. */
    if (asprintf(&line, value == NULL ? "%s:" : *value != '\0' ? "%s: %s" : "%s;", name,
                 value) < 0)
        return false;
    list = curl_slist_append(x->header_list, line);
    explicit_bzero(line, strlen(line));
    free(line);
    if (list == NULL)
        return false;
    x->header_list = list;
    return true;
}

static CURLcode set_request(CURL *easy, struct http_exchange *x)
{
    CURLcode code = CURLE_OK;

    for (size_t i = 0; i < x->header_count; i++)
        if (!add_header_line(x, x->headers[i].name, x->headers[i].value))
            return CURLE_OUT_OF_MEMORY;
    /* Prevents libcurl from sending the header "Expect: 100-continue". With this header, libcurl
     * waits for an answer before it sends the body. If a server ignores the header, this wait takes
     * a second for each part of an upload. */
    if (!add_header_line(x, "Expect", NULL))
        return CURLE_OUT_OF_MEMORY;
    SET(CURLOPT_URL, x->url);
    SET(CURLOPT_PATH_AS_IS, 1L);
    SET(CURLOPT_HTTPHEADER, x->header_list);
    SET(CURLOPT_USERAGENT, "sheaf");
    SET(CURLOPT_ERRORBUFFER, x->detail);
    SET(CURLOPT_PRIVATE, x);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, x);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, x);
    if (x->follow || strchr(x->url, '?') != NULL) {
        SET(CURLOPT_DEBUGFUNCTION, on_sent);
        SET(CURLOPT_DEBUGDATA, x);
        SET(CURLOPT_VERBOSE, 1L);
    }
    return code;
}

int http_set_up(struct http_exchange *x)
{
    CURLcode code = set_request(x->easy, x);

    if (code == CURLE_OK)
        code = set_connection(x->easy, x);
    return (int)(code == CURLE_OK ? set_method(x->easy, x) : code);
}
