/* SPDX-License-Identifier: MIT
 *
 * The HTTP engine: one thread with a libcurl multi handle, which all remote stores use. The engine
 * runs any number of exchanges at the same time. An exchange is one HTTP request and its response,
 * without retries. The layer above (store/request.h) signs requests, repeats attempts and
 * interprets responses.
 *
 * Any thread may submit an exchange. The body of a response is written directly into the caller's
 * memory. Connections are kept and used again.
 *
 * An exchange fails if it stalls (store/stall.h), if it reaches its deadline, or if the server
 * sends too many bytes of headers. The deadline protects against a server that sends just fast
 * enough not to stall. */
#ifndef STORE_HTTP_H
#define STORE_HTTP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "store/stall.h"

#define HTTP_HEADERS_MOST 24
#define HTTP_DETAIL_SIZE 256

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_PUT, HTTP_POST, HTTP_DELETE };

/* Why there is no complete response. */
enum http_failure {
    HTTP_ANSWERED = 0,
    HTTP_CANCELLED,
    HTTP_NO_HOST,           /* its name is not known */
    HTTP_NO_CONNECTION,     /* refused, unreachable, or no response in time */
    HTTP_NOT_TRUSTED,       /* TLS: its certificate */
    /* TLS: the file of CA certificates cannot be read, or has no certificates */
    HTTP_NO_CA,
    HTTP_BROKEN,            /* reset, or ended before the announced length */
    /* the bytes that were received do not begin with a status line, for example because they are
     * the rest of an earlier response on the same connection */
    HTTP_NOT_HTTP,
    HTTP_PROXY_REFUSED,     /* the proxy responded to CONNECT with `proxy_status` */
    HTTP_STALLED,
    HTTP_LATE,              /* silent for longer than `patience` permits */
    HTTP_TOO_LATE,          /* its deadline has passed */
    HTTP_TOO_LONG,          /* the body is longer than the room for it */
    HTTP_HEADERS_TOO_LONG,
    HTTP_NO_MEMORY,         /* for the request or for its response */
    HTTP_NOT_BEGUN,         /* `begin` failed */
    /* the exchange (a request and its response) was submitted in a forked child, but the engine
     * belongs to the parent process */
    HTTP_FORKED,
    HTTP_FAILED             /* anything else; `detail` says what */
};

struct http_header {
    const char *name;       /* static */
    char *value;            /* the exchange's */
};

/* One attempt to send a request, and its response. The caller sets all fields to zero, then sets
 * the fields that it needs, and submits the exchange. At the end, the caller must call
 * http_exchange_free. */
struct http_exchange {
    /* The fields from here on describe the request. The values of headers are copied. All other
     * texts must stay valid until the exchange is done. */
    enum http_method method;
    const char *url;
    struct http_header headers[HTTP_HEADERS_MOST];
    size_t header_count;
    const void *body;
    size_t body_size;

    const char *ca_file;            /* NULL: libcurl's default */
    bool follow;                    /* redirects, five at most */
    bool no_proxy;                  /* for addresses of this machine or its host */
    /* whether the exchange must use a new connection, because the connection of the previous
     * attempt may be faulty */
    bool is_fresh;
    uint64_t connect_ns;            /* 0: 10 s */
    struct stall stall;             /* its limits are the caller's */
    uint64_t deadline_ns;           /* on the monotonic clock; 0 for none */

    /* Memory of into_size bytes for the body of a response with a status 2xx. A longer body is an
     * error. If `into` is NULL, or if the status is not 2xx, the body goes to the buffer `reply`.
     * The caller sets the size limit of `reply`. If the body for an error status is longer than
     * this limit, the rest is dropped. */
    void *into;
    size_t into_size;
    struct buf reply;
    /* whether the request asks for a range of an object; range_from is then the offset of the first
     * byte of the range. A server may ignore the range, and send the whole object with the status
     * 200. The bytes before the range are then skipped, and the exchange ends as HTTP_TOO_LONG at
     * the first byte after the range. */
    bool has_range;
    uint64_t range_from;

    /* Sets headers that depend on the time, such as a date or a signature. `begin` is NULL if there
     * are no such headers. Called on the thread of the HTTP engine just before the exchange (a
     * request and its response) starts. Returns SHEAF_END if the exchange must wait: the engine
     * then calls `begin` again after *wait_ns nanoseconds. Returns a negative code if the exchange
     * must fail. */
    int (*begin)(struct http_exchange *exchange, uint64_t *wait_ns);
    /* Returns how many nanoseconds the exchange (a request and its response) may be silent before
     * it ends as HTTP_LATE, or 0 if there is no limit. Called on the thread of the HTTP engine
     * several times a second. If `patience` is NULL, there is no limit. */
    uint64_t (*patience)(const struct http_exchange *exchange);
    /* Called once, on the thread of the HTTP engine, when the exchange (a request and its response)
     * has ended. The function must not block. The function may free the exchange, or submit the
     * exchange again. */
    void (*done)(struct http_exchange *exchange);

    /* The outcome, which the engine sets: */
    enum http_failure failure;
    int status;                     /* 200, ...; 0 if there was no status line */
    int proxy_status;               /* status of the proxy's response to CONNECT */
    /* whether the request was sent through a proxy that can read it, and may respond itself */
    bool has_proxy;
    size_t got;                     /* bytes put into `into` */
    uint64_t passed;                /* bytes before the range that were dropped */
    uint64_t retry_after_ns;        /* 0: not named */
    uint64_t first_byte_ns;         /* after it was started; 0: none has come */
    char detail[HTTP_DETAIL_SIZE];  /* libcurl's words on a failure */

    /* Fields that the engine sets: */
    void *easy, *header_list;
    uint64_t due_ns, began_ns, quiet_since_ns;
    /* how many nanoseconds the exchange (a request and its response) was silent when it ended as
     * HTTP_LATE */
    uint64_t quiet_ns;
    size_t sent;
    size_t header_bytes;
    bool cancel;
    enum { HTTP_IDLE, HTTP_SUBMITTED, HTTP_QUEUED, HTTP_ACTIVE } stage;
    TAILQ_ENTRY(http_exchange) link;
};

struct http_engine;

int http_engine_open(struct http_engine **engine, struct sheaf_error *err);
/* Ends all exchanges (requests and their responses) with the failure HTTP_CANCELLED, and then ends
 * the thread of the HTTP engine. Exchanges that are submitted after this call fail at once. */
void http_engine_stop(struct http_engine *engine);
/* Stops the engine if it still runs, and frees it. Does nothing if `engine` is NULL. */
void http_engine_close(struct http_engine *engine);

/* Starts an exchange (a request and its response) after delay_ns nanoseconds. May be called on any
 * thread of the process that has opened the engine. A finished exchange may be submitted again,
 * even by its own function `done`. */
void http_submit(struct http_engine *engine, struct http_exchange *exchange, uint64_t delay_ns);

/* Ends an exchange (a request and its response) early, with the failure HTTP_CANCELLED. If the
 * exchange has already ended, its result stays. The function `done` of the exchange is called in
 * both cases. No thread may free the exchange during this call. If a cancelled exchange is
 * submitted again, it ends immediately, without a request. */
void http_cancel(struct http_engine *engine, struct http_exchange *exchange);

/* Returns whether any server has ever responded. */
bool http_has_answered(const struct http_engine *engine);

/* ---- http_handle.c ---- */

/* Sets up exchange->easy, a handle of libcurl, for the exchange (a request and its response).
 * Returns a CURLcode. Called only by http.c. */
int http_set_up(struct http_exchange *exchange);

/* ---- http_exchange.c ---- */

int http_add_header(struct http_exchange *exchange, const char *name, const char *value,
                    struct sheaf_error *err);
void http_clear_headers(struct http_exchange *exchange);
void http_exchange_free(struct http_exchange *exchange);

/* Returns the value of a header of the response, or NULL if the response has no such header. The
 * case of letters in `name` is ignored. The function may be called only inside `done` of the
 * exchange, and the value is valid until `done` returns. */
const char *http_answer_header(const struct http_exchange *exchange, const char *name);

/* ---- http_error.c ---- */

/* Maps a CURLcode to a failure. */
enum http_failure http_failure_of_curl(int curl_code);
/* Returns whether the failure may be temporary, so that the request may succeed if it is sent again
 * unchanged. */
bool http_may_pass(const struct http_exchange *exchange);
bool http_status_may_pass(int status);
/* Sets the error for an exchange (a request and its response) whose response is incomplete, or has
 * a status other than success. Returns the error's code. `what` describes the request, for example
 * "GET s3://bucket/key". */
int http_error(const struct http_exchange *exchange, const char *what, struct sheaf_error *err);

#endif
