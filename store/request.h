/* SPDX-License-Identifier: MIT
 *
 * A request to a server. It is signed if necessary, and attempted until it succeeds or the failure
 * is final. Retries happen only in this layer. Each attempt is one exchange (store/http.h).
 *
 * The function `classify` interprets each response. An attempt is signed only when it begins. So
 * the date and the credentials of the signature are valid, even if the attempt had to wait long
 * before it began. */
#ifndef STORE_REQUEST_H
#define STORE_REQUEST_H

#include "base/event.h"
#include "store/http.h"
#include "store/retry.h"
#include "store/url.h"

#define REQUEST_HEADERS_MOST 18
#define REQUEST_RATE ((uint64_t)1 << 20)        /* bytes a second; see request_patience.limit_ns */
#define REQUEST_HASH_SIZE 65    /* 64 hexadecimal digits and a NUL */
/* Size limit in bytes for small responses and for the texts of errors. */
#define REQUEST_REPLY_MOST ((size_t)64 << 10)

/* The patience of requests. Tests shorten it. */
struct request_patience {
    struct retry_policy retry;
    uint64_t stall_ns;
    uint64_t stall_bytes;
    /* time limit in nanoseconds that replaces stall_ns if the server may need minutes before it
     * answers */
    uint64_t patient_ns;
    /* time limit in nanoseconds for a request with all its attempts; 0 means no limit. The time
     * that the request's bytes take at the rate REQUEST_RATE is added to the limit. */
    uint64_t limit_ns;
};

struct request;

/* The functions that sign the requests to a target (a server). `begin` and `end` may be NULL. */
struct request_signing {
    /* Does slow work that is needed only once for all attempts of a request, for example hashing
     * the body. Called by request_start. */
    int (*begin)(struct request *request, struct sheaf_error *err);
    /* Adds the headers of the signature to an attempt. All other headers are already set. Returns
     * SHEAF_END while credentials are being fetched, and must then be called again soon. Called on
     * the thread of the HTTP engine. */
    int (*sign)(struct request *request, struct sheaf_error *err);
    /* Frees what `sign` left in the request. */
    void (*end)(struct request *request);
};

/* The destination of requests. It must outlive them. */
struct target {
    struct http_engine *engine;
    const struct request_patience *patience;
    char *origin;               /* "https://host:port" */
    char *host;                 /* as in the Host header */
    char *prefix;               /* precedes each path: "" or "/bucket" */
    const char *ca_file;        /* NULL: trust_file() */
    bool follow, no_proxy;
    uint64_t connect_ns;        /* 0: the engine's default */

    const struct request_signing *signing;      /* NULL: requests are not signed */
    /* Used for signing: */
    struct credentials_cache *credentials;      /* NULL: none */
    const char *region, *service, *token_header;
    const char *bearer;         /* "Bearer TOKEN", sent to this host only; or NULL */

    /* the target (server) in another region, to which requests go instead; NULL if no response has
     * named another region; set by `move` */
    const struct target *moved;         /* atomic */
    /* Sets `moved` to a target (server) in the region `region`. Returns false if this is not
     * possible. Called by `classify`, on the thread of the HTTP engine. `move` is NULL if requests
     * to this target cannot be sent to another region. */
    bool (*move)(void *mover, const char *region);
    void *mover;
};

/* Sets the fields origin and host from a URL. The path in the URL is ignored. */
int target_set_url(struct target *target, const struct url *url, struct sheaf_error *err);
void target_free(struct target *target);    /* Frees the memory that the target owns. */
/* Returns the target (server) to which requests go now: target->moved if that is set, otherwise
 * `target` itself. */
const struct target *target_now(const struct target *target);

struct request {
    struct http_exchange http;          /* the caller sets method, body, into and reply.limit */
    const struct target *target;
    char *path;                         /* encoded; the request's */
    char *query;                        /* canonical, or NULL; the request's */
    struct http_header headers[REQUEST_HEADERS_MOST];
    size_t header_count;
    /* description for messages, for example "reading s3://bucket/key"; owned by the request */
    char *what;
    bool is_patient;                    /* whether the server may take minutes before it responds */
    /* whether an attempt is ended and repeated early if it is late compared with other reads from
     * the same server (see store/peers.h) */
    bool has_peers;

    /* Interprets an attempt that has ended, with or without a complete response. Returns SHEAF_OK
     * if the response is as expected. Otherwise returns an error, and sets *again to true if
     * another attempt may succeed. Called on the thread of the HTTP engine. */
    int (*classify)(struct request *request, bool *again, struct sheaf_error *err);
    /* Checks that the text of an expected response is complete. Returns SHEAF_ERR_CORRUPT if the
     * text was damaged in transit, so that another attempt may succeed. The message must not
     * contain `what`, because the caller adds it. Called on the thread of the HTTP engine. `check`
     * is NULL if any text is accepted. */
    int (*check)(struct request *request, struct sheaf_error *err);
    /* Called once when the request has ended, usually on the thread of the HTTP engine. The
     * function must not block. It may free the request. */
    void (*done)(struct request *request);

    /* Set by `classify` if the response leads to another request, for which `classify` has changed
     * the method or the headers. This request is sent at once, and the attempt before it does not
     * count as failed. */
    bool goes_on;

    /* The outcome. */
    int code;
    struct sheaf_error error;

    /* The fields from here on are set by the functions of store/request.c and by the functions that
     * sign the request. The caller must not set them. */
    const struct target *at;            /* destination of the last attempt: `target` or its
                                           `moved` */
    struct retry retry;
    const struct request_signing *signing;      /* the target's, once the request was started */
    struct credentials *credentials;    /* the signer's: those that signed the last attempt */
    char payload_hash[REQUEST_HASH_SIZE];       /* the signer's: the SHA-256 of the body */
    char *url;
    bool cancelled;
    unsigned times_late;
    struct event *waiter;
};

/* Sets *requests to the number of requests that this process has started, and *retries to the
 * number of attempts that it has repeated. */
void request_counts(uint64_t *requests, uint64_t *retries);

/* Initialises a request. Afterwards the request owns `path`, `query` and `what`, even if the
 * function fails. `query` may be NULL for no query. Returns SHEAF_ERR_MEMORY if `path` or `what` is
 * NULL, so callers may pass the result of an allocation without a check. `classify` becomes
 * request_classify_http, reply.limit becomes REQUEST_REPLY_MOST, and all other fields zero. The
 * caller must call request_free in any case. */
int request_init(struct request *request, const struct target *target, enum http_method method,
                 char *path, char *query, char *what, struct sheaf_error *err);
void request_free(struct request *request);

/* Sends later attempts of this request to another region. Later requests to the same target (the
 * server) also go there. Returns false if this is not possible. Called by `classify` if a response
 * names the region. */
bool request_follow(struct request *request, const char *region);

/* Sets a header for all attempts of the request. `name` must be a static string in lower case. */
int request_set_header(struct request *request, const char *name, const char *value,
                       struct sheaf_error *err);
/* Removes a header. Returns whether the request had it. */
bool request_remove_header(struct request *request, const char *name);

/* Prepares the signature, for example by hashing the body, and starts the request. If this fails,
 * `done` is called before the function returns. */
void request_start(struct request *request);
/* Makes a running request end soon. */
void request_cancel(struct request *request);
/* Starts the request and waits for its end; the wait can be interrupted (store/interrupt.h).
 * Returns request->code, and copies the error to `err`. */
int request_run(struct request *request, struct sheaf_error *err);

/* The usual function `classify`: accepts any status 2xx, and repeats attempts that failed
 * temporarily. */
int request_classify_http(struct request *request, bool *again, struct sheaf_error *err);

#endif
