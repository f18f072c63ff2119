/* SPDX-License-Identifier: MIT
 *
 * A scripted HTTP server of the tests, in a thread of the test itself: what it answers is the
 * business of a function (common_fake_s3.c), how it fails is data.
 *
 * A fault is given for requests that match; the server counts them, passes over the first `skip`
 * and fails the next `times`. */
#ifndef TESTS_COMMON_FAKE_HTTP_H
#define TESTS_COMMON_FAKE_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum fake_kind {
    FAKE_STATUS = 1,        /* answers `status`, with <Error><Code>`code` if that is not NULL */
    FAKE_RESET,             /* nothing is done, and the connection is reset */
    FAKE_LOSE,              /* it is done, but instead of the answer comes a reset */
    FAKE_CUT,               /* a reset after `at` bytes of the body */
    FAKE_SHORT,             /* the body ends `at` bytes early, and all headers agree with that */
    FAKE_LONG,              /* `at` bytes too many, and all headers agree with that */
    FAKE_TORN,              /* the body ends after `at` bytes, in an answer that is whole */
    FAKE_STALL,             /* nothing more after `at` bytes of the body */
    FAKE_DRIP,              /* ten bytes a second after `at` bytes of the body */
    FAKE_SILENCE,           /* no answer at all */
    FAKE_HEADERS,           /* headers for ever */
    FAKE_NO_LENGTH,         /* no Content-Length: the connection's end is the body's */
    FAKE_WRONG_BYTES,       /* a byte of what is stored is not what was sent */
    FAKE_WRONG_RANGE,       /* a Content-Range that begins one byte later */
    FAKE_WHOLE,             /* 200 and the whole object, whatever the range */
    FAKE_WRONG_ETAG,        /* another ETag than the object's */
    FAKE_WRONG_PARTS,       /* an ETag of as many parts, but others */
    FAKE_ERROR_IN_200,      /* status 200, and then an <Error> with `code` */
};

struct fake_fault {
    enum fake_kind kind;
    const char *method;     /* NULL: any */
    const char *match;      /* part of the path with query, "?query" at its end; NULL: any */
    unsigned skip, times;   /* times 0: for ever */
    int status;
    const char *code;
    const char *header;     /* more for the answer: "Retry-After: 1" */
    size_t at;
};

struct fake_request {
    char method[8];
    char *path;             /* as sent, without the query */
    char *query;            /* as sent; "" if there is none */
    char *headers;          /* "name: value\n" each, the name in lower case */
    uint8_t *body;
    size_t body_size;
};

struct fake_answer {
    int status;
    struct buf headers;     /* "Name: value\r\n" each */
    struct buf body;
    size_t content_length;  /* of HEAD, whose body is not sent; else 0 */
};

/* The value of a header, to be freed; NULL if there is none.  `name` is in lower case. */
char *fake_header(const struct fake_request *request, const char *name);
void fake_answer_header(struct fake_answer *answer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void fake_answer_body(struct fake_answer *answer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Answers one request.  `fault` is NULL, or what the answer itself has to get wrong.  Called
 * under a lock: one at a time. */
typedef void fake_serve_fn(void *context, const struct fake_request *request,
                           const struct fake_fault *fault, struct fake_answer *answer);

struct fake_server;

struct fake_server *fake_server_start(fake_serve_fn *serve, void *context);
void fake_server_stop(struct fake_server *server);
unsigned fake_server_port(const struct fake_server *server);

void fake_server_add_fault(struct fake_server *server, const struct fake_fault *fault);
void fake_server_clear_faults(struct fake_server *server);
/* From now on, `percent` of all requests fail in some way that may pass. */
void fake_server_storm(struct fake_server *server, unsigned percent, uint64_t seed);

/* Connections made from now on are read at `bytes_per_ms`, with little read ahead. */
void fake_server_read_slowly(struct fake_server *server, unsigned bytes_per_ms);

/* Requests so far whose method and path?query match, as in a fault; and all that were failed. */
unsigned fake_server_count(struct fake_server *server, const char *method, const char *match);
unsigned fake_server_faults(struct fake_server *server);
/* The most requests that were being answered at one moment. */
unsigned fake_server_peak(struct fake_server *server);

/* Keeps the server from answering, so that what its answers change may be looked at. */
void fake_server_lock(struct fake_server *server);
void fake_server_unlock(struct fake_server *server);

#endif
