/* SPDX-License-Identifier: MIT
 *
 * Reads ranges of remote objects. The header Content-Range of a response is checked before any byte
 * is used. If the header is wrong, the range is requested again on another connection. The ETag is
 * compared even if the server ignores the header If-Match. If the body of a response ends early,
 * its bytes are kept, and the next attempt requests the rest. */
#include "store/remote_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/event.h"
#include "base/number.h"
#include "store/etag.h"
#include "store/interrupt.h"

#define PROGRESS_BYTES ((size_t)16 << 10)   /* fewer bytes do not count as progress */
/* limit for consecutive responses whose range is not the requested range; a read fails at this
 * number of such responses */
#define WRONG_MOST 3u
/* If a server sends whole objects instead of ranges, objects of up to this size can be read. */
#define WHOLE_MOST ((uint64_t)16 << 20)
/* value of the header Range in a GET of an object's last byte */
#define LAST_BYTE  "bytes=-1"

struct remote_reading {
    struct request request;
    struct store_read *read;
    size_t have;                /* bytes in place before this attempt */
    unsigned wrong;             /* number of consecutive responses with a wrong range */
    /* whether the request is for the object's size, and not for its bytes */
    bool asks_size;
};

static struct remote_object *remote_read_object_of(const struct store_read *read)
{
    return (struct remote_object *)read->object;
}

bool remote_parse_range(const char *text, uint64_t *first, uint64_t *last, uint64_t *total)
{
    char bytes[80], *dash, *slash;

    if (strncasecmp(text, "bytes ", 6) != 0 || strlen(text + 6) >= sizeof(bytes))
        return false;
    snprintf(bytes, sizeof(bytes), "%s", text + 6);
    slash = strchr(bytes, '/');
    if (slash == NULL)
        return false;
    *slash++ = '\0';
    *total = UINT64_MAX;
    if (strcmp(slash, "*") != 0 && !number_parse(slash, INT64_MAX, total))
        return false;
    *first = 1;
    *last = 0;
    if (strcmp(bytes, "*") == 0)
        return true;
    dash = strchr(bytes, '-');
    if (dash == NULL)
        return false;
    *dash++ = '\0';
    return number_parse(bytes, INT64_MAX, first) && number_parse(dash, INT64_MAX, last) &&
           *first <= *last && *last < *total;
}

/* Returns whether the header Content-Range of a response says that the object is empty. `range` is
 * the value of the header. For an empty object, the value ends with the size "/0". The text before
 * the size depends on the server: Adobe's S3Mock sends "bytes 0--1/0", and other servers send a '*'
 * in the place of the range. Also returns true if the response has no such header (`range` is
 * NULL), because some servers send none for an empty object. */
static bool is_range_of_nothing(const char *range)
{
    const size_t size = range == NULL ? 0 : strlen(range);

    return size == 0 || (size >= 2 && strcmp(range + size - 2, "/0") == 0);
}

/* Returns whether an object is empty, judged by the response to a GET of its first bytes. */
static bool says_empty(const struct http_exchange *http)
{
    const char *length = http_answer_header(http, "content-length");

    return http->failure == HTTP_ANSWERED &&
           is_range_of_nothing(http_answer_header(http, "content-range")) &&
           (http->status == 416 || ((http->status == 200 || http->status == 206) &&
                                    length != NULL && strcmp(length, "0") == 0));
}

bool remote_parse_size(const struct http_exchange *http, uint64_t *bytes)
{
    const char *range = http_answer_header(http, "content-range");
    const char *length = http_answer_header(http, "content-length");
    uint64_t first, last;

    *bytes = 0;
    if (says_empty(http))
        return true;
    if (http->failure != HTTP_ANSWERED && http->failure != HTTP_TOO_LONG)
        return false;
    if (http->status == 206)
        return range != NULL && remote_parse_range(range, &first, &last, bytes) && first == 0 &&
               last >= first && *bytes != UINT64_MAX;
    return http->status == 200 && length != NULL && number_parse(length, INT64_MAX, bytes);
}

/* Returns whether the request is the GET of the last byte of an object (see remote_find_size). */
static bool asks_for_last(const struct request *r)
{
    for (size_t i = 0; i < r->header_count; i++)
        if (strcmp(r->headers[i].name, "range") == 0)
            return strcmp(r->headers[i].value, LAST_BYTE) == 0;
    return false;
}

/* Returns whether the response to a GET has a range of the object, but not the object's size. */
static bool lacks_size(const struct http_exchange *http)
{
    const char *range = http_answer_header(http, "content-range");
    uint64_t first, last, total;

    return http->status == 206 && range != NULL &&
           (http->failure == HTTP_ANSWERED || http->failure == HTTP_TOO_LONG) &&
           remote_parse_range(range, &first, &last, &total) && first <= last &&
           total == UINT64_MAX;
}

/* Finds the size of an object in the response to the GET of its last byte. The size is the offset
 * of this byte, plus one. If the server ignores the range and sends the whole object, the response
 * states the object's size. */
static bool parse_last(const struct http_exchange *http, uint64_t *bytes)
{
    const char *range = http_answer_header(http, "content-range");
    uint64_t first, last, total;

    if (http->failure != HTTP_ANSWERED || http->status != 206)
        return http->status == 200 && remote_parse_size(http, bytes);
    if (range == NULL || !remote_parse_range(range, &first, &last, &total) || first > last)
        return false;
    *bytes = total != UINT64_MAX ? total : last + 1;
    return true;
}

bool remote_find_size(struct request *r, uint64_t *bytes)
{
    if (r->http.method == HTTP_HEAD) {
        /* The response to the GET has shown that the object has bytes, so a size of 0 is wrong. */
        if (remote_parse_size(&r->http, bytes) && *bytes != 0)
            return true;
        if (r->http.failure != HTTP_ANSWERED || http_may_pass(&r->http))
            return false;
        r->http.method = HTTP_GET;
        r->goes_on = request_set_header(r, "range", LAST_BYTE, NULL) == SHEAF_OK;
        return false;
    }
    if (asks_for_last(r))
        return parse_last(&r->http, bytes);
    if (remote_parse_size(&r->http, bytes))
        return true;
    if (lacks_size(&r->http)) {
        r->http.method = HTTP_HEAD;
        r->http.has_range = false;
        r->goes_on = request_remove_header(r, "range");
    }
    return false;
}

/* ---- Judging an attempt ---------------------------------------------------------------------- */

static int remote_read_changed(const struct remote_reading *g, const char *what, const char *now,
                               struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_CHANGED, "%s: the object was replaced while it was in use: its "
                   "%s is now %.80s", g->request.what, what, now);
}

/* Handles the first response for an object that was opened without a request. Stores the ETag and
 * the time of the object from this response. All later responses must be for the same object. */
static int meet(const struct remote_reading *g, uint64_t total, struct sheaf_error *err)
{
    struct remote_object *o = remote_read_object_of(g->read);
    const char *etag = o->is_fixed ? NULL : http_answer_header(&g->request.http, "etag");
    const char *modified = o->is_fixed ? NULL
                                       : http_answer_header(&g->request.http, "last-modified");
    char *etag_copy, *modified_copy;

    etag_copy = etag != NULL ? strdup(etag) : NULL;
    modified_copy = modified != NULL ? strdup(modified) : NULL;
    if ((etag != NULL && etag_copy == NULL) || (modified != NULL && modified_copy == NULL)) {
        free(etag_copy);
        free(modified_copy);
        return err_memory(err, 64);
    }
    pthread_mutex_lock(&o->lock);
    o->etag = etag_copy;
    o->modified = modified_copy;
    o->is_new = false;
    pthread_mutex_unlock(&o->lock);
    if (o->base.bytes == UINT64_MAX) {
        o->base.bytes = total;
        g->read->size = (size_t)MIN((uint64_t)g->read->size, total - g->read->offset);
    }
    return SHEAF_OK;
}

/* Checks that a response is for the object that was opened, and not for an object that has replaced
 * it. */
static int check_identity(const struct remote_reading *g, struct sheaf_error *err)
{
    const struct remote_object *o = remote_read_object_of(g->read);
    const char *etag = http_answer_header(&g->request.http, "etag");
    const char *modified = http_answer_header(&g->request.http, "last-modified");
    const uint64_t stamp = etag_stamp(etag);
    const uint64_t known = o->stamp != 0 ? o->stamp : etag_stamp(o->etag);

    if (o->is_new)
        return SHEAF_OK;
    if (stamp != 0 && known != 0 && stamp != known)
        return remote_read_changed(g, "ETag", etag, err);
    if (!(etag_is_strong(etag) && etag_is_strong(o->etag)) && modified != NULL &&
        o->modified != NULL && strcmp(modified, o->modified) != 0)
        return remote_read_changed(g, "Last-Modified", modified, err);
    return SHEAF_OK;
}

/* Compares two sizes of the object: `total`, which the response states, and the size that is
 * already known. Returns an error if they differ. `total` is UINT64_MAX if the response states no
 * size. */
static int check_total(const struct remote_reading *g, uint64_t total, struct sheaf_error *err)
{
    const struct remote_object *o = remote_read_object_of(g->read);
    char size[32];

    if (total == UINT64_MAX || o->base.bytes == UINT64_MAX || total == o->base.bytes)
        return SHEAF_OK;
    if (o->is_new)
        return err_set(err, SHEAF_ERR_CHANGED, "%s: has %llu byte%s, but %llu are expected: the "
                       "object has changed", o->base.url, (unsigned long long)total, plural(total),
                       (unsigned long long)o->base.bytes);
    snprintf(size, sizeof(size), "%llu bytes", (unsigned long long)total);
    return remote_read_changed(g, "size", size, err);
}

/* Handles a response that contradicts its request, for example because it belongs to another
 * request. Sets *again to true, so that the range is requested again on another connection. After
 * WRONG_MOST such responses for one read, sets *again to false. */
static void ask_anew(struct remote_reading *g, bool *again)
{
    *again = ++g->wrong < WRONG_MOST;
    g->request.http.is_fresh = true;
}

static int wrong_range(struct remote_reading *g, const char *got, bool *again,
                       struct sheaf_error *err)
{
    const uint64_t from = g->read->offset + g->have;

    ask_anew(g, again);
    return err_set(err, SHEAF_ERR_CORRUPT, "%s: requested bytes %llu to %llu, the server "
                   "answered \"%.80s\"", g->request.what, (unsigned long long)from,
                   (unsigned long long)(g->read->offset + g->read->size - 1), got);
}

static bool remote_read_is_empty(const struct remote_reading *g)
{
    return remote_read_object_of(g->read)->is_new && g->read->offset == 0
        && says_empty(&g->request.http);
}

/* Checks that a response is for the object that was opened: compares the ETag or time, and the size
 * `total` that the response states. */
static int check_object(struct remote_reading *g, uint64_t total, bool *again,
                        struct sheaf_error *err)
{
    int code = check_identity(g, err);

    if (code != SHEAF_OK)
        return code;
    code = check_total(g, total, err);
    if (code != SHEAF_OK)
        ask_anew(g, again);
    return code;
}

/* Handles a response with the whole object. The response is accepted if the read asked for the
 * whole object, or if the object has at most WHOLE_MOST bytes. In the second case, the requested
 * range was cut out of the object (see has_range in http.h). A larger object is refused, because
 * each read of a part would transfer the whole object. */
static int take_whole(struct remote_reading *g, bool *again, struct sheaf_error *err)
{
    const struct remote_object *o = remote_read_object_of(g->read);
    const char *length = http_answer_header(&g->request.http, "content-length");
    const uint64_t from = g->read->offset + g->have;
    uint64_t total = UINT64_MAX;
    int code;

    if (length != NULL && !number_parse(length, INT64_MAX, &total))
        total = UINT64_MAX;
    if ((from != 0 || g->read->size != o->base.bytes) && total > WHOLE_MOST) {
        ask_anew(g, again);
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: requested bytes %llu to %llu, the server "
                       "answered with the whole object (HTTP status 200, Content-Length %.20s): "
                       "it does not serve ranges of bytes", g->request.what,
                       (unsigned long long)from,
                       (unsigned long long)(g->read->offset + g->read->size - 1),
                       length != NULL ? length : "missing");
    }
    code = check_object(g, total, again, err);
    if (code == SHEAF_OK && total == UINT64_MAX && g->request.http.failure == HTTP_TOO_LONG)
        return remote_read_changed(g, "size", "larger", err);
    return code == SHEAF_OK && o->is_new ? meet(g, total, err) : code;
}

/* Returns whether the range that a response states is probably wrong. Such a range is too short: it
 * ends before the end of the request, and before the end of the object. `last` is the last byte of
 * the range, and `total` the size of the object as the response states it. Returns false if the
 * size was already known. Also returns false after WRONG_MOST such responses, because some servers
 * always send less than was requested. */
static bool is_odd_end(const struct remote_reading *g, uint64_t last, uint64_t total)
{
    return remote_read_object_of(g->read)->base.bytes == UINT64_MAX && g->wrong + 1 < WRONG_MOST &&
           last + 1 < MIN(total, g->read->offset + g->read->size);
}

/* Handles a response that does not state the size of the object, while the size is unknown. Changes
 * the request so that it asks for the size. The bytes of the response are dropped, and are
 * requested again when the size is known (see learn_size). If the response ended early, the same
 * request is made again instead. */
static int ask_for_size(struct remote_reading *g, bool *again, struct sheaf_error *err)
{
    uint64_t bytes;

    if (g->request.http.failure != HTTP_ANSWERED && g->request.http.failure != HTTP_TOO_LONG)
        return remote_read_object_of(g->read)->classify(&g->request, again, err);
    g->asks_size = true;
    (void)remote_find_size(&g->request, &bytes);
    return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: the server does not report the object's size",
                   g->request.what);
}

/* Checks that a response with status 2xx has the range that was requested, from its first byte
 * on. */
static int remote_read_check_range(struct remote_reading *g, bool *again, struct sheaf_error *err)
{
    const struct remote_object *o = remote_read_object_of(g->read);
    const char *range = http_answer_header(&g->request.http, "content-range");
    uint64_t first, last, total;
    int code;

    if (remote_read_is_empty(g))
        return meet(g, 0, err);
    if (g->request.http.status == 200)
        return take_whole(g, again, err);
    if (g->request.http.status != 206 || range == NULL ||
        !remote_parse_range(range, &first, &last, &total))
        return wrong_range(g, range != NULL ? range : "no Content-Range", again, err);
    if (total == UINT64_MAX && o->base.bytes == UINT64_MAX)
        return ask_for_size(g, again, err);
    code = check_object(g, total, again, err);
    if (code != SHEAF_OK)
        return code;
    if (first != g->read->offset + g->have || last >= g->read->offset + g->read->size ||
        is_odd_end(g, last, total))
        return wrong_range(g, range, again, err);
    if (g->request.http.failure == HTTP_TOO_LONG || g->request.http.got > last - first + 1) {
        g->request.http.failure = HTTP_TOO_LONG;
        ask_anew(g, again);
        return http_error(&g->request.http, g->request.what, err);
    }
    return o->is_new ? meet(g, total, err) : SHEAF_OK;
}

/* Interprets the response to a read if its status is an error. For example, "not found" means that
 * the object was removed after it was opened. */
static int refused(struct remote_reading *g, bool *again, struct sheaf_error *err)
{
    struct request *r = &g->request;
    const int status = r->http.failure == HTTP_ANSWERED ? r->http.status : 0;
    int code = remote_read_object_of(g->read)->classify(r, again, err);

    if (remote_read_is_empty(g))
        return meet(g, 0, err);
    if (status == 412 || status == 416)
        return err_set(err, SHEAF_ERR_CHANGED, "%s: the object was replaced while it was in use "
                       "(HTTP status %d)", r->what, status);
    if (status == 404 && code == SHEAF_ERR_NOT_FOUND && !remote_read_object_of(g->read)->is_new)
        return err_set(err, SHEAF_ERR_CHANGED, "%s: the object was removed while it was in use",
                       r->what);
    return code;
}

/* Adds the header If-Match or If-Unmodified-Since to a read, so that the server refuses the read if
 * the object was replaced. */
static int pin(struct remote_reading *g, struct sheaf_error *err)
{
    struct remote_object *o = remote_read_object_of(g->read);
    int code = SHEAF_OK;

    pthread_mutex_lock(&o->lock);
    if (etag_is_strong(o->etag))
        code = request_set_header(&g->request, "if-match", o->etag, err);
    else if (o->modified != NULL)
        code = request_set_header(&g->request, "if-unmodified-since", o->modified, err);
    pthread_mutex_unlock(&o->lock);
    return code;
}

static int ask_for_rest(struct remote_reading *g, struct sheaf_error *err)
{
    char range[64];
    int code;

    snprintf(range, sizeof(range), "bytes=%llu-%llu",
             (unsigned long long)(g->read->offset + g->have),
             (unsigned long long)(g->read->offset + g->read->size - 1));
    g->request.http.into = (char *)g->read->data + g->have;
    g->request.http.into_size = g->read->size - g->have;
    g->request.http.has_range = true;
    g->request.http.range_from = g->read->offset + g->have;
    code = request_set_header(&g->request, "range", range, err);
    return code == SHEAF_OK ? pin(g, err) : code;
}

/* Handles the response to a request for the size of the object. Then requests the bytes of the
 * read, unless the read is for 0 bytes. */
static int learn_size(struct remote_reading *g, bool *again, struct sheaf_error *err)
{
    struct request *r = &g->request;
    uint64_t bytes;
    int code;

    if (!remote_find_size(r, &bytes)) {
        if (r->http.failure != HTTP_ANSWERED || r->http.status / 100 != 2)
            return refused(g, again, err);
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: the server does not report the object's "
                       "size", r->what);
    }
    g->asks_size = false;
    r->http.method = HTTP_GET;
    code = meet(g, bytes, err);
    if (code == SHEAF_OK && g->read->size != 0) {
        code = ask_for_rest(g, err);
        r->goes_on = code == SHEAF_OK;
    }
    return code;
}

static int remote_read_classify(struct request *r, bool *again, struct sheaf_error *err)
{
    struct remote_reading *g = (struct remote_reading *)r;
    int code;

    if (g->asks_size)
        return learn_size(g, again, err);
    if (r->http.status / 100 != 2 || r->http.failure == HTTP_HEADERS_TOO_LONG)
        return refused(g, again, err);
    code = remote_read_check_range(g, again, err);
    if (code != SHEAF_OK)
        return code;
    g->wrong = 0;
    g->have += r->http.got;
    if (g->have == g->read->size)
        return SHEAF_OK;
    if (r->http.got >= PROGRESS_BYTES)
        retry_progress(&r->retry);
    code = ask_for_rest(g, err);
    if (code != SHEAF_OK)
        return code;
    *again = true;
    if (r->http.failure != HTTP_ANSWERED)
        return request_classify_http(r, again, err);
    return err_set(err, SHEAF_ERR_TRUNCATED, "%s: received %zu of %zu byte%s", r->what, g->have,
                   g->read->size, plural(g->read->size));
}

/* ---- Starting and ending --------------------------------------------------------------------- */

static void remote_read_report(struct store_read *read, int code)
{
    read->code = code;
    read->done(read);
}

static void remote_read_done(struct request *r)
{
    struct remote_reading *g = (struct remote_reading *)r;
    struct store_read *read = g->read;
    struct remote_object *o = remote_read_object_of(read);
    const int code = r->code;

    pthread_mutex_lock(&o->lock);
    read->state = NULL;
    pthread_mutex_unlock(&o->lock);
    if (code != SHEAF_OK)
        read->error = r->error;
    request_free(r);
    free(g);
    remote_read_report(read, code);
}

static int remote_read_prepare(struct remote_reading *g, struct sheaf_error *err)
{
    const struct remote_object *o = remote_read_object_of(g->read);
    char *what = NULL;
    int code;

    if (asprintf(&what, "%s: reading %zu bytes at %llu", o->base.url, g->read->size,
                 (unsigned long long)g->read->offset) < 0)
        what = NULL;
    code = request_init(&g->request, o->target, HTTP_GET, strdup(o->path), NULL, what, err);
    g->request.classify = remote_read_classify;
    g->request.done = remote_read_done;
    g->request.has_peers = true;
    for (size_t i = 0; i < o->header_count && code == SHEAF_OK; i++)
        code = request_set_header(&g->request, o->headers[i].name, o->headers[i].value, err);
    return code == SHEAF_OK ? ask_for_rest(g, err) : code;
}

void remote_read_start(struct store_read *read)
{
    struct remote_object *o = remote_read_object_of(read);
    struct remote_reading *g;
    int code;

    read->state = NULL;
    if (read->size > o->base.bytes || read->offset > o->base.bytes - read->size) {
        remote_read_report(read, err_set(&read->error, SHEAF_ERR_TRUNCATED,
                                         "%s: has %llu byte%s, cannot read %zu at offset %llu",
                                         o->base.url, (unsigned long long)o->base.bytes,
                                         plural(o->base.bytes), read->size,
                                         (unsigned long long)read->offset));
        return;
    }
    g = read->size == 0 ? NULL : calloc(1, sizeof(*g));
    if (g == NULL) {
        remote_read_report(read, read->size == 0 ? SHEAF_OK : err_memory(&read->error, sizeof(*g)));
        return;
    }
    g->read = read;
    code = remote_read_prepare(g, &read->error);
    if (code != SHEAF_OK) {
        request_free(&g->request);
        free(g);
        remote_read_report(read, code);
        return;
    }
    pthread_mutex_lock(&o->lock);
    read->state = g;
    pthread_mutex_unlock(&o->lock);
    request_start(&g->request);
}

void remote_read_cancel(struct store_read *read)
{
    struct remote_object *o = remote_read_object_of(read);

    pthread_mutex_lock(&o->lock);
    if (read->state != NULL)
        request_cancel(&((struct remote_reading *)read->state)->request);
    pthread_mutex_unlock(&o->lock);
}

/* ---- Waiting --------------------------------------------------------------------------------- */

struct waiting_read {
    struct store_read base;
    struct event done;
};

static void remote_read_wake(struct store_read *read)
{
    event_set(&((struct waiting_read *)read)->done);
}

static void remote_read_do_cancel(void *read)
{
    remote_read_cancel(read);
}

int remote_read(struct store_object *object, uint64_t offset, void *data, size_t size,
                struct sheaf_error *err)
{
    struct waiting_read w = {
        .base = { .object = object, .offset = offset, .data = data, .size = size,
            .done = remote_read_wake },
        .done = EVENT_INIT,
    };

    remote_read_start(&w.base);
    interrupt_wait(&w.done, remote_read_do_cancel, &w.base);
    if (w.base.code != SHEAF_OK && err != NULL)
        *err = w.base.error;
    return w.base.code;
}

/* ---- Objects --------------------------------------------------------------------------------- */

int remote_object_init(struct remote_object *o, const struct store_ops *ops, const char *url,
                       int url_size, char *path, struct sheaf_error *err)
{
    pthread_mutex_init(&o->lock, NULL);
    o->base.ops = ops;
    o->base.url = strndup(url, (size_t)url_size);
    o->base.is_remote = true;
    o->base.block_bytes = REMOTE_BLOCK;
    o->path = path;
    return o->base.url == NULL || path == NULL ? err_memory(err, (size_t)url_size) : SHEAF_OK;
}

void remote_close(struct store_object *object)
{
    struct remote_object *o = (struct remote_object *)object;

    pthread_mutex_destroy(&o->lock);
    free(o->base.url);
    free(o->base.asked);
    free(o->path);
    for (size_t i = 0; i < o->header_count; i++)
        free(o->headers[i].value);
    free(o->etag);
    free(o->modified);
    free(o);
}
