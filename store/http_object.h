/* SPDX-License-Identifier: MIT
 *
 * Objects of web servers. The stores for http:// and https:// URLs and for the Hugging Face hub use
 * this code. */
#ifndef STORE_HTTP_OBJECT_H
#define STORE_HTTP_OBJECT_H

#include "store/remote_read.h"

struct http_object {
    struct remote_object base;
    struct target target;
    /* the bearer token that requests for the object send, owned by the object; or NULL */
    char *bearer;
    char *commit;               /* may be `base.base.version`; owned by the object; or NULL */
};

/* Makes an object for `url`, about which nothing is known yet. `name` is the URL that the user
 * gave. The object must be passed to http_object_give, even after a failure. */
int http_object_make(const struct store_ops *ops, const char *name, const char *url,
                     struct http_object **object, struct sheaf_error *err);
/* Requests the size, ETag and time of the object. */
int http_object_probe(struct http_object *object, struct sheaf_error *err);
/* Returns the object as the result of store_ops.open. If `code` is an error, closes the object
 * instead. */
int http_object_give(struct http_object *object, int code, struct store_object **out);
void http_object_close(struct store_object *object);

#endif
