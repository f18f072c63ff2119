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
    /* text "Bearer TOKEN" for the Authorization header of requests for this object; owned by the
     * object; NULL if the requests have no token */
    char *bearer;
    char *commit;               /* may be `base.base.version`; owned by the object; or NULL */
};

/* Makes an object for `url` without a request to the server. `name` is the URL as the user gave
 * it. Afterwards the caller must call http_object_give for the object, even if this function
 * fails. */
int http_object_make(const struct store_ops *ops, const char *name, const char *url,
                     struct http_object **object, struct sheaf_error *err);
/* Requests the size, ETag and time of the object. */
int http_object_probe(struct http_object *object, struct sheaf_error *err);
/* Finishes the opening of an object. If `code`, the result so far, is SHEAF_OK, sets *out to the
 * object. Otherwise closes the object. Returns `code`. */
int http_object_give(struct http_object *object, int code, struct store_object **out);
void http_object_close(struct store_object *object);

#endif
