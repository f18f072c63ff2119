/* SPDX-License-Identifier: MIT
 *
 * The store for web servers and content delivery networks, http:// and https://. This store can
 * only be read. Requests are not signed. The server must support ranges of bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/etag.h"
#include "store/http_object.h"

static const struct store_ops *ops_of(const char *url)
{
    return strncmp(url, "https", 5) == 0 ? &store_https_ops : &store_http_ops;
}

static int http_open(const char *url, struct store_object **object, struct sheaf_error *err)
{
    struct http_object *o;
    int code = http_object_make(ops_of(url), url, url, &o, err);

    if (code == SHEAF_OK)
        code = http_object_probe(o, err);
    if (code == SHEAF_OK && etag_is_strong(o->base.etag))
        o->base.base.version = o->base.etag;
    return http_object_give(o, code, object);
}

static int http_open_known(const char *url, uint64_t bytes, uint64_t stamp,
                           struct store_object **object, struct sheaf_error *err)
{
    struct http_object *o;
    int code = http_object_make(ops_of(url), url, url, &o, err);

    if (code == SHEAF_OK) {
        o->base.base.bytes = bytes;
        o->base.stamp = stamp;
        o->base.is_new = stamp == 0;
    }
    return http_object_give(o, code, object);
}

static int http_size(const char *url, uint64_t *bytes, struct sheaf_error *err)
{
    struct store_object *object;
    int code = http_open(url, &object, err);

    if (code == SHEAF_OK) {
        *bytes = object->bytes;
        http_object_close(object);
    }
    return code;
}

/* ---- What cannot be done --------------------------------------------------------------------- */

static int store_http_refuse(const char *url, const char *what, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_UNSUPPORTED, "%.*s: %s over HTTP is not possible",
                   url_printable_size(url), url, what);
}

static int http_list(const char *url, store_entry_fn *each, void *context,
                     struct sheaf_error *err)
{
    (void)each, (void)context;
    return store_http_refuse(url, "listing", err);
}

#define HTTP_OPS(name)                                                                          \
    {                                                                                           \
        .scheme = name, .has_queries = true, .place = "HTTP",                                   \
        .open = http_open, .read = remote_read,                                                 \
        .read_start = remote_read_start, .read_cancel = remote_read_cancel,                     \
        .open_known = http_open_known, .close = http_object_close, .list = http_list,           \
        .size = http_size, .refuse = store_http_refuse,                                         \
    }

const struct store_ops store_http_ops = HTTP_OPS("http");
const struct store_ops store_https_ops = HTTP_OPS("https");
