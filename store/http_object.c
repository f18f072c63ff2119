/* SPDX-License-Identifier: MIT
 *
 * Opens and closes objects of web servers. Opening sends a GET of the first byte and not a HEAD.
 * A HEAD would fail for a pre-signed URL, which is usually valid for GET only. In addition, the
 * response to the GET shows whether the server supports ranges. */
#include "store/http_object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/remote.h"

void http_object_close(struct store_object *object)
{
    struct http_object *o = (struct http_object *)object;

    if (o->bearer != NULL)
        explicit_bzero(o->bearer, strlen(o->bearer));
    free(o->bearer);
    free(o->commit);
    target_free(&o->target);
    remote_close(object);
}

/* ---- Opening --------------------------------------------------------------------------------- */

struct probe {
    struct request base;
    struct remote_object *object;
};

/* Replaces the string *copy by a copy of a header's value, which may be NULL. Returns false if
 * memory is exhausted. */
static bool http_object_keep(char **copy, const char *value)
{
    free(*copy);
    *copy = value != NULL ? strdup(value) : NULL;
    return value == NULL || *copy != NULL;
}

static int probe_classify(struct request *r, bool *again, struct sheaf_error *err)
{
    struct remote_object *o = ((struct probe *)r)->object;
    const char *range = http_answer_header(&r->http, "content-range");
    const int status = r->http.status;

    if (!o->is_fixed && (!http_object_keep(&o->etag, http_answer_header(&r->http, "etag")) ||
                         !http_object_keep(&o->modified,
                                           http_answer_header(&r->http, "last-modified"))))
        return err_memory(err, 64);
    if (remote_find_size(r, &o->base.bytes) &&
        (r->http.method == HTTP_HEAD || status != 200 || o->base.bytes == 0))
        return SHEAF_OK;
    if ((status == 206 && r->http.failure == HTTP_ANSWERED) || status == 416)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: the server does not report the object's "
                       "size: \"%.80s\"", r->what, range != NULL ? range : "no Content-Range");
    if (status == 200)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: the server does not serve ranges of "
                       "bytes (it answers 200, not 206)", r->what);
    return request_classify_http(r, again, err);
}

int http_object_probe(struct http_object *object, struct sheaf_error *err)
{
    struct remote_object *o = &object->base;
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

int http_object_make(const struct store_ops *ops, const char *name, const char *url,
                     struct http_object **object, struct sheaf_error *err)
{
    struct http_object *o = calloc(1, sizeof(*o));
    const int shown = url_printable_size(name);
    struct url parts = { 0 };
    int code;

    *object = o;
    if (o == NULL)
        return err_memory(err, sizeof(*o));
    code = url_parse(url, &parts, err);
    if (code != SHEAF_OK)
        err_prefix(err, "%.*s: ", shown, name);
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
        code = remote_object_init(&o->base, ops, name, shown, parts.path, err);
        parts.path = NULL;
    }
    if (code == SHEAF_OK && name[shown] != '\0') {
        o->base.base.asked = strdup(name);
        code = o->base.base.asked == NULL ? err_memory(err, strlen(name)) : SHEAF_OK;
    }
    url_free(&parts);
    return code;
}

int http_object_give(struct http_object *o, int code, struct store_object **object)
{
    if (code == SHEAF_OK)
        *object = &o->base.base;
    else if (o != NULL)
        http_object_close(&o->base.base);
    return code;
}
