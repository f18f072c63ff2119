/* SPDX-License-Identifier: MIT
 *
 * Reads an object over HTTP, for S3 and plain web servers, by ranged GETs directly into the
 * caller's memory. If the object is replaced after it was opened, reads fail. An interrupted
 * transfer resumes after the last byte received. */
#ifndef STORE_REMOTE_READ_H
#define STORE_REMOTE_READ_H

#include <pthread.h>

#include "store/request.h"
#include "store/store.h"

/* The best number of bytes for a read, which S3's own clients use as well. It balances the time to
 * the first byte against the time for the rest. */
#define REMOTE_BLOCK ((size_t)8 << 20)

struct remote_object {
    struct store_object base;
    const struct target *target;
    char *path;                     /* encoded, as requests have it */
    char *etag;                     /* as the server sent it, or NULL */
    /* if only the object's stamp is known and not its ETag: the stamp (see etag_stamp);
     * otherwise 0 */
    uint64_t stamp;
    /* the object's header Last-Modified, which identifies the object if there is no usable ETag; or
     * NULL. If an object has neither header, nothing shows that another object of the same size has
     * replaced it. */
    char *modified;
    /* whether the object was opened without a request; the first response then describes it, and
     * all later ones must agree */
    bool is_new;
    /* whether the URL always names the same content, so that neither ETag nor time is compared */
    bool is_fixed;
    int (*classify)(struct request *request, bool *again, struct sheaf_error *err);
    /* headers that each read sends in addition to its own */
    struct http_header headers[2];
    size_t header_count;
    /* guards the field `state` of each read, and the fields that a first response sets */
    pthread_mutex_t lock;
};

/* Functions for reading, for the tables struct store_ops of remote stores. The object must be a
 * struct remote_object. */
int remote_read(struct store_object *object, uint64_t offset, void *data, size_t size,
                struct sheaf_error *err);
void remote_read_start(struct store_read *read);
void remote_read_cancel(struct store_read *read);

/* Sets the fields that all remote objects have. Takes ownership of the strings, even on failure. */
int remote_object_init(struct remote_object *object, const struct store_ops *ops,
                       const char *url, int url_size, char *path, struct sheaf_error *err);
/* A store_ops.close for an object without further fields. */
void remote_close(struct store_object *object);

/* Returns whether the response to a GET of an object's first byte shows the object's size, and sets
 * *bytes. An empty object has no first byte (status 416, or 200 or 206 without bytes); *bytes
 * becomes 0. Some servers send the whole object instead of the first byte. The exchange then fails
 * with HTTP_TOO_LONG, but the function still finds the size in the headers. */
bool remote_parse_size(const struct http_exchange *exchange, uint64_t *bytes);

/* Parses "bytes 0-99/1000" and "bytes * /1000" (without the blank). A total of '*' becomes
 * UINT64_MAX. For the second form, *first > *last. Returns false for any other text. */
bool remote_parse_range(const char *text, uint64_t *first, uint64_t *last, uint64_t *total);

#endif
