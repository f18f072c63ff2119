/* SPDX-License-Identifier: MIT
 *
 * A request: HTTP exchanges with one server, which are signed if required, and retried until one
 * succeeds or the failure is final. Retries happen only in this layer.
 *
 * The function `classify` of the request interprets a response. An attempt is signed only when it
 * begins, so that the date is right and the credentials are current, however long the attempt has
 * waited. */
#ifndef STORE_REQUEST_H
#define STORE_REQUEST_H

#include "base/event.h"
#include "store/http.h"
#include "store/retry.h"
#include "store/url.h"

#define REQUEST_HEADERS_MOST 18
#define REQUEST_RATE ((uint64_t)1 << 20)        /* bytes a second; see request_patience.limit_ns */
#define REQUEST_HASH_SIZE 65    /* 64 hexadecimal digits and a NUL */
/* size limit for the text of an error and for small responses */
#define REQUEST_REPLY_MOST ((size_t)64 << 10)

/* The patience of requests. Tests shorten it. */
struct request_patience {
    struct retry_policy retry;
    uint64_t stall_ns;
    uint64_t stall_bytes;
    /* time limit that replaces stall_ns for requests whose response may take long to begin */
    uint64_t patient_ns;
    /* time limit of a whole request with all its attempts, to which the time for its bytes at
     * REQUEST_RATE is added; 0 for no limit */
    uint64_t limit_ns;
};

struct request;

/* How the requests to a target (a server) are signed. `begin` and `end` may be NULL. */
struct request_signing {
    /* Does the slow work that is the same for all attempts of a request. Called by
     * request_start. */
    int (*begin)(struct request *request, struct sheaf_error *err);
    /* Adds the signature's headers to an attempt; all other headers are already set. Returns
     * SHEAF_END if credentials are still being fetched; the caller must then call `sign` again
     * shortly. Called on the thread of the HTTP engine. */
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
    /* For the signer: */
    struct credentials_cache *credentials;      /* NULL: none */
    const char *region, *service, *token_header;
    const char *bearer;         /* "Bearer TOKEN", sent to this host only; or NULL */

    /* The target that replaces this one, once the service has named another region. NULL at first;
     * `move` sets it. */
    const struct target *moved;         /* atomic */
    /* Sets `moved` to a target in another region. `classify` calls it on the engine's thread.
     * Returns false if there is no such target. `move` is NULL if the requests cannot be sent to
     * another region. */
    bool (*move)(void *mover, const char *region);
    void *mover;
};

/* Sets origin and host from a URL. The path of the URL is ignored. */
int target_set_url(struct target *target, const struct url *url, struct sheaf_error *err);
void target_free(struct target *target);    /* Frees the memory that the target owns. */
/* Where its requests go now. */
const struct target *target_now(const struct target *target);

struct request {
    struct http_exchange http;          /* the caller sets method, body, into and reply.limit */
    const struct target *target;
    char *path;                         /* encoded; the request's */
    char *query;                        /* canonical, or NULL; the request's */
    struct http_header headers[REQUEST_HEADERS_MOST];
    size_t header_count;
    /* description of the request for messages, as in "reading s3://bucket/key"; the request owns
     * it */
    char *what;
    bool is_patient;                    /* whether the server may take minutes before it responds */
    /* whether the request is sent again when it is late compared with others (see store/peers.h) */
    bool has_peers;

    /* Called on the thread of the HTTP engine after each attempt, whether its response is complete
     * or not. Returns SHEAF_OK if the response is the expected one. Otherwise returns an error, and
     * sets *again to whether another attempt may succeed. */
    int (*classify)(struct request *request, bool *again, struct sheaf_error *err);
    /* Checks whether the text of an expected response is complete. Returns SHEAF_ERR_CORRUPT if the
     * text was damaged in transit, so that another attempt may succeed. Called on the thread of the
     * HTTP engine. The error message does not contain `what`. If `check` is NULL, any text is
     * accepted. */
    int (*check)(struct request *request, struct sheaf_error *err);
    /* Called once, as http_exchange.done. */
    void (*done)(struct request *request);

    /* The outcome. */
    int code;
    struct sheaf_error error;

    /* The request's own. */
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

/* Returns the number of requests that this process has started, and the number of attempts that
 * were repeated. */
void request_counts(uint64_t *requests, uint64_t *retries);

/* Initialises a request. Takes ownership of `path`, `query` and `what`, even on failure. A NULL
 * `query` means that there is no query; NULL for `path` or `what` means that memory was exhausted.
 * Sets classify to request_classify_http, reply.limit to REQUEST_REPLY_MOST, and all other fields
 * to zero. The caller must call request_free in any case. */
int request_init(struct request *request, const struct target *target, enum http_method method,
                 char *path, char *query, char *what, struct sheaf_error *err);
void request_free(struct request *request);

/* Called by `classify` for a response that names another region. Returns whether this request, and
 * all later requests to its target, can be sent to that region. */
bool request_follow(struct request *request, const char *region);

/* Sets a header that every attempt sends. `name` must be static and in lower case. */
int request_set_header(struct request *request, const char *name, const char *value,
                       struct sheaf_error *err);
/* Returns whether the header was set. */
bool request_remove_header(struct request *request, const char *name);

/* Prepares the signature, which may require hashing the body, and starts the request. If this
 * fails, `done` is called before this function returns. */
void request_start(struct request *request);
/* Makes a running request end soon. */
void request_cancel(struct request *request);
/* Starts the request and waits until it has ended (see store/interrupt.h). Returns request->code
 * and copies the error. */
int request_run(struct request *request, struct sheaf_error *err);

/* A function `classify` that accepts any 2xx status, and repeats attempts that failed
 * temporarily. */
int request_classify_http(struct request *request, bool *again, struct sheaf_error *err);

#endif
