/* SPDX-License-Identifier: MIT
 *
 * A scripted HTTP server, which runs on threads of the test itself. A function computes the
 * responses (see common_fake_s3.c). Faults are data: a test adds faults for requests that match.
 * For each fault, the server skips the first `skip` matching requests and fails the next
 * `times`. */
#ifndef TESTS_COMMON_FAKE_HTTP_H
#define TESTS_COMMON_FAKE_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum fake_kind {
    FAKE_STATUS = 1,        /* responds with `status`, and an <Error> with `code` unless NULL */
    FAKE_RESET,             /* does nothing and resets the connection */
    FAKE_LOSE,              /* does the work, but resets the connection instead of responding */
    FAKE_CUT,               /* resets the connection after `at` bytes of the body */
    FAKE_CLOSE,             /* closes the connection after `at` bytes of the body */
    FAKE_SHORT,             /* a range and all headers lack the last `at` bytes; or HEAD's do */
    FAKE_LONG,              /* the body and all headers have `at` bytes too many */
    FAKE_TORN,              /* a correct HTTP response whose body ends after `at` bytes */
    FAKE_NUL,               /* a correct HTTP response whose body has a NUL after `at` bytes */
    FAKE_STRAY,             /* the body has one byte more than its Content-Length */
    FAKE_STALL,             /* sends nothing after `at` bytes of the body */
    FAKE_PAUSE,             /* sends half of the body a second later */
    FAKE_DRIP,              /* sends ten bytes per second after `at` bytes of the body */
    FAKE_SILENCE,           /* does nothing and does not respond */
    FAKE_HEADERS,           /* sends headers without end */
    FAKE_NO_LENGTH,         /* no Content-Length; the body ends with the connection */
    FAKE_TWICE,             /* does the work twice, like a proxy that repeats a request */
    FAKE_DAMAGED_REQUEST,   /* one byte of the request's body differs before the server checks it */
    FAKE_DAMAGED_BODY,      /* one byte of the body differs, if the request succeeds */
    FAKE_WRONG_BYTES,       /* one stored byte differs from the sent one */
    FAKE_WRONG_RANGE,       /* the Content-Range begins one byte too late */
    FAKE_WRONG_TOTAL,       /* the Content-Range has another size of the object */
    FAKE_NO_RANGE,          /* there is no Content-Range */
    FAKE_LONG_BODY,         /* the body has one byte more than the Content-Range says */
    FAKE_WHOLE,             /* responds 200 with the whole object, despite a range */
    FAKE_WRONG_ETAG,        /* an ETag that differs from the object's */
    FAKE_WRONG_PARTS,       /* an ETag with the right number of parts, but a wrong hash */
    FAKE_WRONG_CHECKSUM,    /* the checksums in the headers differ from the object's */
    FAKE_SHORT_PAGE,        /* a page of a listing has one to three entries, and says so */
    FAKE_ERROR_IN_200,      /* status 200, but the body is an <Error> with `code` */
    FAKE_ELSEWHERE,         /* does the work, but responds that the bucket is in eu-west-1 */
};

struct fake_fault {
    enum fake_kind kind;
    const char *method;     /* NULL for any */
    const char *match;      /* a part of "path?query"; "?query" must be at its end; NULL for any */
    unsigned skip, times;   /* `times` 0 fails all further requests */
    int status;
    const char *code;
    const char *message;    /* of the error; NULL for a usual one */
    const char *header;     /* a header to add, as in "Retry-After: 1" */
    size_t at;
    bool anywhere;          /* `at` is any number, and is taken modulo the size */
};

/* Returns the `at` of a fault for a body with this size. */
size_t fake_fault_at(const struct fake_fault *fault, size_t size);

struct fake_request {
    char method[8];
    char *path;             /* as sent, without the query */
    char *query;            /* as sent; "" if the request has none */
    char *headers;          /* a line "name: value\n" for each, names in lower case */
    uint8_t *body;
    size_t body_size;
};

struct fake_answer {
    int status;
    struct buf headers;     /* "Name: value\r\n" each */
    struct buf body;
    size_t content_length;  /* for HEAD, whose body is not sent; otherwise 0 */
    bool has_no_length;     /* the response has no Content-Length header */
};

/* Returns the value of a header, or NULL if the request does not have it. `name` is in lower case.
 * The caller frees the value. */
char *fake_header(const struct fake_request *request, const char *name);
void fake_answer_header(struct fake_answer *answer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void fake_answer_body(struct fake_answer *answer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Removes the headers whose names begin with `name`. Returns the value of the last one, which the
 * caller frees, or NULL if there was none. */
char *fake_answer_remove(struct fake_answer *answer, const char *name);

/* Responds to one request. `fault` is NULL, or a fault that the function itself must produce.
 * Called with the server's lock held, so only one call runs at a time. */
typedef void fake_serve_fn(void *context, const struct fake_request *request,
                           const struct fake_fault *fault, struct fake_answer *answer);

struct fake_server;

/* Called without the server's lock, so they may wait. `choose` sets a fault for the request and
 * returns true, or returns false. It is called only if no added fault matches. `served` is called
 * after the work is done and before the response is sent, but not if a fault prevents the work. */
typedef bool fake_choose_fn(void *context, const struct fake_request *request,
                            struct fake_fault *fault);
typedef void fake_served_fn(void *context, const struct fake_request *request);

struct fake_server *fake_server_start(fake_serve_fn *serve, void *context);
void fake_server_stop(struct fake_server *server);
/* Sets the functions, or removes them if they are NULL. Their context is the service's. */
void fake_server_watch(struct fake_server *server, fake_choose_fn *choose, fake_served_fn *served);
/* Sets whether the server sends 100 Continue to clients of later connections that wait for it. By
 * default it does. */
void fake_server_continues(struct fake_server *server, bool continues);
unsigned fake_server_port(const struct fake_server *server);

void fake_server_add_fault(struct fake_server *server, const struct fake_fault *fault);
void fake_server_clear_faults(struct fake_server *server);

/* Makes the server read later connections at `bytes_per_ms`, with a small receive buffer. */
void fake_server_read_slowly(struct fake_server *server, unsigned bytes_per_ms);

/* fake_server_count returns the number of requests so far whose method and "path?query" match, as
 * for a fault. It aborts after more than 100,000 requests. fake_server_requests returns the number
 * of all requests, and fake_server_faults the number of requests that were failed. */
unsigned fake_server_count(struct fake_server *server, const char *method, const char *match);
unsigned fake_server_requests(struct fake_server *server);
unsigned fake_server_faults(struct fake_server *server);
/* Returns the largest number of requests that were in progress at the same time. */
unsigned fake_server_peak(struct fake_server *server);

/* Keeps the server from responding until fake_server_unlock, so that the test can examine the
 * service's data. */
void fake_server_lock(struct fake_server *server);
void fake_server_unlock(struct fake_server *server);

#endif
