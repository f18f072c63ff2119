/* SPDX-License-Identifier: MIT
 *
 * Objects of web servers, for all stores that read from those: each has a target of its own. */
#ifndef STORE_HTTP_OBJECT_H
#define STORE_HTTP_OBJECT_H

#include "store/remote_read.h"

struct http_object {
    struct remote_object base;
    struct target target;
    char *bearer;               /* the target's; the object's; or NULL */
    char *commit;               /* that `base.base.version` may be; the object's; or NULL */
};

/* An object of which nothing has been asked, at `url`; `name` is what it was asked for as.  To be
 * given to http_object_give, also on failure. */
int http_object_make(const struct store_ops *ops, const char *name, const char *url,
                     struct http_object **object, struct sheaf_error *err);
/* Asks for its size, ETag and time. */
int http_object_probe(struct http_object *object, struct sheaf_error *err);
/* Makes it what store_ops.open returns, or closes it if `code` is an error. */
int http_object_give(struct http_object *object, int code, struct store_object **out);
void http_object_close(struct store_object *object);

#endif
