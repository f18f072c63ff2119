/* SPDX-License-Identifier: MIT
 *
 * A request: HTTP exchanges with one server, signed if required, and retried until one succeeds or
 * the failure is final.  Retries happen here, below everything, and nowhere else.
 *
 * The request's `classify` says what an answer means.  Signing happens when an attempt begins, so
 * that the date is right and the credentials are current however long it waited. */
#ifndef STORE_REQUEST_H
#define STORE_REQUEST_H

#include "base/event.h"
#include "store/http.h"
#include "store/retry.h"
#include "store/s3/credentials.h"
#include "store/s3/sigv4.h"
#include "store/url.h"

#define REQUEST_HEADERS_MOST 18
#define REQUEST_RATE ((uint64_t)1 << 20)        /* bytes a second; see request_patience.limit_ns */
#define REQUEST_REPLY_MOST ((size_t)64 << 10)   /* bytes of an error's text, and of small replies */

/* How patient requests are.  Tests shorten it. */
struct request_patience {
    struct retry_policy retry;
    uint64_t stall_ns;
    uint64_t stall_bytes;
    uint64_t patient_ns;        /* instead of stall_ns, for what a server may think about */
    uint64_t limit_ns;          /* of a whole request with all its attempts, but for the time that
                                   its bytes take at REQUEST_RATE; 0: none */
};

/* Where requests go.  Lives longer than they. */
struct target {
    struct http_engine *engine;
    const struct request_patience *patience;
    char *origin;               /* "https://host:port" */
    char *host;                 /* as the Host header has it */
    char *prefix;               /* before each path: "" or "/bucket" */
    const char *ca_file;        /* NULL: trust_file() */
    bool follow, no_proxy;
    uint64_t connect_ns;        /* 0: the engine's default */

    /* NULL: requests are not signed. */
    struct credentials_cache *credentials;
    const char *region, *service, *token_header;
    const char *bearer;         /* "Bearer TOKEN", for this host alone; NULL: none */

    /* Where requests go instead, once the service has said so: NULL, and then set by `move`. */
    const struct target *moved;         /* atomic */
    /* Makes `moved` the place in another region; on the engine's thread, from `classify`.  False:
     * there is none.  NULL: this target does not move. */
    bool (*move)(void *mover, const char *region);
    void *mover;
};

/* Fills origin and host from a URL whose path is ignored. */
int target_set_url(struct target *target, const struct url *url, struct sheaf_error *err);
void target_free(struct target *target);    /* what it points to and owns */
/* Where its requests go now. */
const struct target *target_now(const struct target *target);

struct request {
    struct http_exchange http;          /* method, body, into and reply.limit are the caller's */
    const struct target *target;
    char *path;                         /* encoded; the request's */
    char *query;                        /* canonical, or NULL; the request's */
    struct http_header headers[REQUEST_HEADERS_MOST];
    size_t header_count;
    char *what;                         /* for messages: "reading s3://bucket/key"; the request's */
    bool is_patient;                    /* the server may think about it for minutes */

    /* After an attempt, whole or not: SHEAF_OK if it is what was wanted, or the error, and whether
     * another attempt may do better.  On the engine's thread. */
    int (*classify)(struct request *request, bool *again, struct sheaf_error *err);
    /* Of an answer that was what was wanted: whether its text is whole.  SHEAF_ERR_CORRUPT: it was
     * damaged on its way, so another attempt may do better.  On the engine's thread, without `what`
     * in its message; NULL: any text will do. */
    int (*check)(struct request *request, struct sheaf_error *err);
    /* Called once, as http_exchange.done. */
    void (*done)(struct request *request);

    /* The outcome. */
    int code;
    struct sheaf_error error;

    /* The request's own. */
    const struct target *at;            /* where the last attempt went: `target`, or its `moved` */
    struct retry retry;
    struct credentials *credentials;    /* that the last attempt was signed with */
    char payload_hash[SIGV4_HASH_SIZE];
    char *url;
    bool cancelled;
    struct event *waiter;
};

/* How many requests this process has started, and how often one was repeated after a failure. */
void request_counts(uint64_t *requests, uint64_t *retries);

/* `path`, `query` and `what` are taken, also on failure; NULL for a query is none, for the others
 * "out of memory".  The rest is zero, classify is request_classify_http, and reply.limit is
 * REQUEST_REPLY_MOST.  request_free must be called in any case. */
int request_init(struct request *request, const struct target *target, enum http_method method,
                 char *path, char *query, char *what, struct sheaf_error *err);
void request_free(struct request *request);

/* The service says that what the last attempt wanted is in another region: whether the request, and
 * all later ones to its target, can go there.  For `classify`. */
bool request_follow(struct request *request, const char *region);

/* Sets a header of every attempt; `name` is static and in lower case. */
int request_set_header(struct request *request, const char *name, const char *value,
                       struct sheaf_error *err);
/* Whether it was set. */
bool request_remove_header(struct request *request, const char *name);

/* Hashes the body where the target wants it signed, and starts.  What fails already here is
 * reported through done as well, before it returns. */
void request_start(struct request *request);
/* Makes a started request that is not done yet end soon. */
void request_cancel(struct request *request);
/* Starts, and waits, as store/interrupt.h says; returns request->code, its error copied to err. */
int request_run(struct request *request, struct sheaf_error *err);

/* Any 2xx is right; what may pass is tried again. */
int request_classify_http(struct request *request, bool *again, struct sheaf_error *err);

#endif
