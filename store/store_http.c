/* SPDX-License-Identifier: MIT
 *
 * Objects of plain web servers and content networks, http:// and https://, for reading only and
 * without signing.  The server must serve ranges of bytes.
 *
 * An object is opened by a GET of its first byte, not by HEAD: a pre-signed URL is good for one
 * method only, and the answer also proves that ranges work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/etag.h"
#include "store/remote.h"
#include "store/remote_read.h"

struct http_object {
    struct remote_object base;
    struct target target;
};

static void http_close(struct store_object *object)
{
    struct http_object *o = (struct http_object *)object;

    target_free(&o->target);
    remote_close(object);
}

/* ---- Opening --------------------------------------------------------------------------------- */

struct probe {
    struct request base;
    struct remote_object *object;
};

/* Replaces a copy of a header's value.  False: no memory. */
static bool keep(char **copy, const char *value)
{
    free(*copy);
    *copy = value != NULL ? strdup(value) : NULL;
    return value == NULL || *copy != NULL;
}

static int probe_classify(struct request *r, bool *again, struct sheaf_error *err)
{
    struct remote_object *o = ((struct probe *)r)->object;
    const char *range = http_answer_header(&r->http, "content-range");
    const char *length = http_answer_header(&r->http, "content-length");
    const int status = r->http.status;
    uint64_t first, last, total;

    if (!keep(&o->etag, http_answer_header(&r->http, "etag")) ||
        !keep(&o->modified, http_answer_header(&r->http, "last-modified")))
        return err_memory(err, 64);
    /* An empty object has no first byte: 416, or 200 from a server that makes nothing of it. */
    if ((status == 206 && r->http.failure == HTTP_ANSWERED) || status == 416) {
        if (range != NULL && remote_parse_range(range, &first, &last, &total) &&
            total != UINT64_MAX && (status == 206) == (first <= last)) {
            o->base.bytes = total;
            return SHEAF_OK;
        }
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: the server does not report the object's "
                       "size: \"%.80s\"", r->what, range != NULL ? range : "no Content-Range");
    }
    if (status == 200 && length != NULL && strcmp(length, "0") == 0) {
        o->base.bytes = 0;
        return SHEAF_OK;
    }
    if (status == 200)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: the server does not serve ranges of "
                       "bytes (it answers 200, not 206)", r->what);
    return request_classify_http(r, again, err);
}

static int probe(struct remote_object *o, struct sheaf_error *err)
{
    struct probe p = { .object = o };
    char *what = NULL, byte;
    int code;

    if (asprintf(&what, "opening %s", o->base.url) < 0)
        what = NULL;
    code = request_init(&p.base, o->target, HTTP_GET, strdup(o->path), NULL, what, err);
    p.base.classify = probe_classify;
    p.base.http.into = &byte;
    p.base.http.into_size = 1;
    if (code == SHEAF_OK)
        code = request_set_header(&p.base, "range", "bytes=0-0", err);
    if (code == SHEAF_OK)
        code = request_run(&p.base, err);
    request_free(&p.base);
    return code;
}

/* An object of which nothing has been asked. */
static int make_object(const char *url, struct http_object **object, struct sheaf_error *err)
{
    struct http_object *o = calloc(1, sizeof(*o));
    const int shown = url_printable_size(url);
    struct url parts = { 0 };
    int code;

    *object = o;
    if (o == NULL)
        return err_memory(err, sizeof(*o));
    code = url_parse(url, &parts, err);
    if (code != SHEAF_OK)
        err_prefix(err, "%.*s: ", shown, url);
    if (code == SHEAF_OK)
        code = remote_engine(&o->target.engine, err);
    if (code == SHEAF_OK)
        code = target_set_url(&o->target, &parts, err);
    if (code == SHEAF_OK) {
        o->target.patience = remote_patience();
        o->target.follow = true;
        o->target.ca_file = getenv("AWS_CA_BUNDLE");
        o->base.target = &o->target;
        o->base.classify = request_classify_http;
        code = remote_object_init(&o->base, strncmp(url, "https", 5) == 0 ? &store_https_ops
                                                                          : &store_http_ops,
                                  url, shown, parts.path, err);
        parts.path = NULL;
    }
    if (code == SHEAF_OK && url[shown] != '\0') {
        o->base.base.asked = strdup(url);
        code = o->base.base.asked == NULL ? err_memory(err, strlen(url)) : SHEAF_OK;
    }
    url_free(&parts);
    return code;
}

static int give(struct http_object *o, int code, struct store_object **object)
{
    if (code == SHEAF_OK)
        *object = &o->base.base;
    else if (o != NULL)
        http_close(&o->base.base);
    return code;
}

static int http_open(const char *url, struct store_object **object, struct sheaf_error *err)
{
    struct http_object *o;
    int code = make_object(url, &o, err);

    if (code == SHEAF_OK)
        code = probe(&o->base, err);
    if (code == SHEAF_OK && etag_is_strong(o->base.etag))
        o->base.base.version = o->base.etag;
    return give(o, code, object);
}

static int http_open_known(const char *url, uint64_t bytes, uint64_t stamp,
                           struct store_object **object, struct sheaf_error *err)
{
    struct http_object *o;
    int code = make_object(url, &o, err);

    if (code == SHEAF_OK) {
        o->base.base.bytes = bytes;
        o->base.stamp = stamp;
        o->base.is_new = stamp == 0;
    }
    return give(o, code, object);
}

static int http_size(const char *url, uint64_t *bytes, struct sheaf_error *err)
{
    struct store_object *object;
    int code = http_open(url, &object, err);

    if (code == SHEAF_OK) {
        *bytes = object->bytes;
        http_close(object);
    }
    return code;
}

/* ---- What cannot be done --------------------------------------------------------------------- */

static int refuse(const char *url, const char *what, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_UNSUPPORTED, "%.*s: %s over HTTP is not possible",
                   url_printable_size(url), url, what);
}

static int http_list(const char *url, store_entry_fn *each, void *context,
                     struct sheaf_error *err)
{
    (void)each, (void)context;
    return refuse(url, "listing", err);
}

static int http_create(const char *url, struct store_writer **writer, struct sheaf_error *err)
{
    (void)writer;
    return refuse(url, "writing", err);
}

static int http_remove(const char *url, struct sheaf_error *err)
{
    return refuse(url, "removing", err);
}

static int http_free_space(const char *url, uint64_t *bytes, struct sheaf_error *err)
{
    (void)bytes;
    return refuse(url, "writing", err);
}

static int http_make_directory(const char *url, struct sheaf_error *err)
{
    return refuse(url, "writing", err);
}

/* Nothing is ever created, so there is no write, commit or abort. */
#define HTTP_OPS(name)                                                                          \
    {                                                                                           \
        .scheme = name, .has_queries = true, .place = "HTTP",                                   \
        .open = http_open, .read = remote_read,                                                 \
        .read_start = remote_read_start, .read_cancel = remote_read_cancel,                     \
        .open_known = http_open_known, .close = http_close, .list = http_list,                  \
        .create = http_create, .size = http_size, .remove = http_remove,                        \
        .free_space = http_free_space, .make_directory = http_make_directory,                   \
    }

const struct store_ops store_http_ops = HTTP_OPS("http");
const struct store_ops store_https_ops = HTTP_OPS("https");
