/* SPDX-License-Identifier: MIT
 *
 * The HTTP engine: one thread with a libcurl multi handle. It serves every store that is not a
 * local file system.
 *
 * Any number of exchanges (a request and its response) run at the same time, on connections that
 * are kept and reused. Any thread may submit an exchange. The body of a response goes directly
 * into the caller's memory. An exchange is a single attempt. Signing, retries and the meaning of
 * responses belong to the layer above (store/request.h).
 *
 * A stalled exchange is ended (store/stall.h). If a server sends just fast enough not to count as
 * stalled, the exchange ends at its deadline. If a server sends headers without end, the exchange
 * ends at the limit for their size. */
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
    /* TLS: the file with CA certificates cannot be read or has no certificates */
    HTTP_NO_CA,
    HTTP_BROKEN,            /* reset, or ended before the announced length */
    /* the response has no status line, because it begins with bytes of another response */
    HTTP_NOT_HTTP,
    HTTP_PROXY_REFUSED,     /* the proxy responded to CONNECT with `proxy_status` */
    HTTP_STALLED,
    HTTP_LATE,              /* silent for longer than `patience` permits */
    HTTP_TOO_LATE,          /* its deadline has passed */
    HTTP_TOO_LONG,          /* the body is longer than the room for it */
    HTTP_HEADERS_TOO_LONG,
    HTTP_NO_MEMORY,         /* for the request or for its response */
    HTTP_NOT_BEGUN,         /* `begin` failed */
    /* the engine belongs to the parent process, from which this process was forked */
    HTTP_FORKED,
    HTTP_FAILED             /* anything else; `detail` says what */
};

struct http_header {
    const char *name;       /* static */
    char *value;            /* the exchange's */
};

/* One exchange: an attempt to send a request, and its response. The caller zero-initialises the
 * struct, sets the fields it needs, submits it, and frees it with http_exchange_free. */
struct http_exchange {
    /* The request. Its fields are borrowed until the exchange is done, except the values of the
     * headers. */
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
    uint64_t deadline_ns;           /* on the monotonic clock; 0 for none */

    /* The body of the response goes to `into` (into_size bytes) if the status is 2xx and `into` is
     * not NULL. Otherwise it goes to `reply`, whose limit the caller sets. If a body with status
     * 2xx does not fit, the exchange fails. A body with another status (the text of an error) is
     * cut at the limit of `reply`. */
    void *into;
    size_t into_size;
    struct buf reply;

    /* Called on the engine's thread just before the exchange starts, to set values that depend on
     * the time (a date, a signature). May be NULL. Returns SHEAF_END if it must be called again
     * after *wait_ns, or a negative code if the exchange must fail. */
    int (*begin)(struct http_exchange *exchange, uint64_t *wait_ns);
    /* Returns the time of silence after which the exchange ends as HTTP_LATE, or 0 if there is no
     * limit. Called on the engine's thread several times a second. NULL means no limit. */
    uint64_t (*patience)(const struct http_exchange *exchange);
    /* Called once, on the engine's thread, when the exchange has ended. It must not block. It may
     * free the exchange or submit it again. */
    void (*done)(struct http_exchange *exchange);

    /* The outcome. */
    enum http_failure failure;
    int status;                     /* 200, ...; 0 if there was no status line */
    int proxy_status;               /* status of the proxy's response to CONNECT */
    size_t got;                     /* bytes put into `into` */
    uint64_t retry_after_ns;        /* 0: not named */
    uint64_t first_byte_ns;         /* after it was started; 0: none has come */
    char detail[HTTP_DETAIL_SIZE];  /* libcurl's words on a failure */

    /* The engine's. */
    void *easy, *header_list;
    uint64_t due_ns, began_ns, quiet_since_ns;
    /* how long the exchange was silent before it ended as HTTP_LATE */
    uint64_t quiet_ns;
    size_t sent;
    size_t header_bytes;
    bool cancel;
    enum { HTTP_IDLE, HTTP_SUBMITTED, HTTP_QUEUED, HTTP_ACTIVE } stage;
    TAILQ_ENTRY(http_exchange) link;
};

struct http_engine;

int http_engine_open(struct http_engine **engine, struct sheaf_error *err);
/* Ends all exchanges as HTTP_CANCELLED, and ends the thread. Exchanges that are submitted later end
 * immediately. */
void http_engine_stop(struct http_engine *engine);
/* Stops the engine if necessary, and frees it. NULL is allowed. */
void http_engine_close(struct http_engine *engine);

/* Starts an exchange after `delay_ns` nanoseconds. May be called on any thread of the process that
 * opened the engine. An exchange that is done may be submitted again, even by its own function
 * `done`. */
void http_submit(struct http_engine *engine, struct http_exchange *exchange, uint64_t delay_ns);

/* Ends an exchange early. `done` is called as usual; the failure is HTTP_CANCELLED unless the
 * exchange had already ended. The caller must make sure that the exchange is not freed meanwhile. A
 * cancelled exchange stays cancelled: if it is submitted again, it ends immediately. */
void http_cancel(struct http_engine *engine, struct http_exchange *exchange);

/* Returns whether any server has ever responded. */
bool http_has_answered(const struct http_engine *engine);

/* ---- http_handle.c ---- */

/* Sets up the libcurl handle `easy` for the exchange. Returns a CURLcode. Only http.c uses it. */
int http_set_up(struct http_exchange *exchange);

/* ---- http_exchange.c ---- */

int http_add_header(struct http_exchange *exchange, const char *name, const char *value,
                    struct sheaf_error *err);
void http_clear_headers(struct http_exchange *exchange);
void http_exchange_free(struct http_exchange *exchange);

/* Returns the value of a response header, or NULL. Upper and lower case of the name do not matter.
 * May be called only inside `done`; the result is valid until `done` returns. */
const char *http_answer_header(const struct http_exchange *exchange, const char *name);

/* ---- http_error.c ---- */

/* Maps a CURLcode to a failure. */
enum http_failure http_failure_of_curl(int curl_code);
/* Returns whether the same request may succeed if it is sent again a moment later. */
bool http_may_pass(const struct http_exchange *exchange);
bool http_status_may_pass(int status);
/* Sets the error for an exchange that has no complete response, or whose status is not a success.
 * Returns the code of the error. `what` names the request, as in "GET s3://bucket/key". */
int http_error(const struct http_exchange *exchange, const char *what, struct sheaf_error *err);

#endif
