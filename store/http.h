/* SPDX-License-Identifier: MIT
 *
 * The HTTP engine: one thread with a libcurl multi handle, under everything that is not a file.
 *
 * Any number of exchanges are in flight at once on connections that are kept and used again; any
 * thread may submit; an answer's body goes straight into the caller's memory.  An exchange is one
 * attempt: signing, retries and what an answer means are for those above (store/request.h).
 *
 * An exchange that has stalled (store/stall.h) is ended.  A server that drips a little faster, or
 * sends headers for ever, meets the deadline or the limit of the headers. */
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

/* Why there is no whole answer. */
enum http_failure {
    HTTP_ANSWERED = 0,
    HTTP_CANCELLED,
    HTTP_NO_HOST,           /* its name is not known */
    HTTP_NO_CONNECTION,     /* refused, unreachable, or no answer in time */
    HTTP_NOT_TRUSTED,       /* TLS: its certificate */
    HTTP_NO_CA,             /* TLS: the CA file cannot be read, or has no certificates */
    HTTP_BROKEN,            /* reset, or ended before the length that it announced */
    HTTP_NOT_HTTP,          /* the answer has no status line, since bytes of another precede it */
    HTTP_PROXY_REFUSED,     /* the proxy's answer to CONNECT is `proxy_status` */
    HTTP_STALLED,
    HTTP_TOO_LATE,          /* its deadline has passed */
    HTTP_TOO_LONG,          /* a body longer than the room for it */
    HTTP_HEADERS_TOO_LONG,
    HTTP_NO_MEMORY,         /* for the request, or for its answer */
    HTTP_NOT_BEGUN,         /* `begin` failed */
    HTTP_FORKED,            /* the engine is that of the process that this one was forked from */
    HTTP_FAILED             /* anything else; `detail` says what */
};

struct http_header {
    const char *name;       /* static */
    char *value;            /* the exchange's */
};

/* Zero it, set what is needed, submit; free with http_exchange_free. */
struct http_exchange {
    /* The request.  Borrowed until done, but for the headers' values. */
    enum http_method method;
    const char *url;
    struct http_header headers[HTTP_HEADERS_MOST];
    size_t header_count;
    const void *body;
    size_t body_size;

    const char *ca_file;            /* NULL: libcurl's default */
    bool follow;                    /* redirects, five at most */
    bool no_proxy;                  /* for addresses of this machine or its host */
    uint64_t connect_ns;            /* 0: 10 s */
    struct stall stall;             /* its limits are the caller's */
    uint64_t deadline_ns;           /* of the monotonic clock; 0: none */

    /* The answer's body: that of a 2xx status goes to `into` if that is not NULL, any other to
     * `reply`, whose limit the caller sets.  What passes the limit fails the exchange if the
     * status is 2xx, and is dropped otherwise. */
    void *into;
    size_t into_size;
    struct buf reply;

    /* Called on the engine's thread just before it starts, so that what depends on the moment
     * (a date, a signature) can be set; may be NULL.  SHEAF_END: not now, ask again after
     * *wait_ns; negative: it fails. */
    int (*begin)(struct http_exchange *exchange, uint64_t *wait_ns);
    /* Called once, on the engine's thread; must not block; may free or submit the exchange. */
    void (*done)(struct http_exchange *exchange);

    /* The outcome. */
    enum http_failure failure;
    int status;                     /* 200, ...; 0: there was no status line */
    int proxy_status;               /* the same of the proxy's answer to CONNECT */
    size_t got;                     /* bytes put into `into` */
    uint64_t retry_after_ns;        /* 0: not named */
    char detail[HTTP_DETAIL_SIZE];  /* libcurl's words on a failure */

    /* The engine's. */
    void *easy, *header_list;
    uint64_t due_ns;
    size_t sent;
    size_t header_bytes;
    bool cancel;
    enum { HTTP_IDLE, HTTP_SUBMITTED, HTTP_QUEUED, HTTP_ACTIVE } stage;
    TAILQ_ENTRY(http_exchange) link;
};

struct http_engine;

int http_engine_open(struct http_engine **engine, struct sheaf_error *err);
/* Ends every exchange as HTTP_CANCELLED, and the thread.  What is submitted later ends at once. */
void http_engine_stop(struct http_engine *engine);
/* Stops it if it was not, and frees it.  NULL is fine. */
void http_engine_close(struct http_engine *engine);

/* Starts it after `delay_ns`.  From any thread of the process that opened the engine; an exchange
 * that is done may be submitted again, also from its own done function. */
void http_submit(struct http_engine *engine, struct http_exchange *exchange, uint64_t delay_ns);

/* Asks for an early end; done is called as ever, as HTTP_CANCELLED unless it was over already.
 * The caller must know that it cannot be freed meanwhile.  It stays cancelled: submitted again,
 * it ends at once. */
void http_cancel(struct http_engine *engine, struct http_exchange *exchange);

/* Whether any server has ever answered. */
bool http_has_answered(const struct http_engine *engine);

/* ---- http_handle.c ---- */

/* Sets `easy` up for the exchange; a CURLcode.  For http.c. */
int http_set_up(struct http_exchange *exchange);

/* ---- http_exchange.c ---- */

int http_add_header(struct http_exchange *exchange, const char *name, const char *value,
                    struct sheaf_error *err);
void http_clear_headers(struct http_exchange *exchange);
void http_exchange_free(struct http_exchange *exchange);

/* A header of the answer, by name in any case; NULL if it has none.  Only from `done`, and valid
 * until that returns. */
const char *http_answer_header(const struct http_exchange *exchange, const char *name);

/* ---- http_error.c ---- */

/* What a CURLcode is for us. */
enum http_failure http_failure_of_curl(int curl_code);
/* Returns whether the same request may do better a moment later. */
bool http_may_pass(const struct http_exchange *exchange);
bool http_status_may_pass(int status);
/* Sets the error of an exchange without a whole answer, or with a status that is no success, and
 * returns its code.  `what` is what was wanted: "GET s3://bucket/key". */
int http_error(const struct http_exchange *exchange, const char *what, struct sheaf_error *err);

#endif
