/* SPDX-License-Identifier: MIT
 *
 * Reads an object over HTTP, for S3 and plain servers alike, by ranged GETs directly into the
 * caller's memory. The reads are tied to the object that was opened. An interrupted transfer
 * resumes after the last byte received. */
#ifndef STORE_REMOTE_READ_H
#define STORE_REMOTE_READ_H

#include <pthread.h>

#include "store/request.h"
#include "store/store.h"

/* The best size of a read, which S3's own clients use. It balances the time to the first byte
 * against the time for the rest. */
#define REMOTE_BLOCK ((size_t)8 << 20)

struct remote_object {
    struct store_object base;
    const struct target *target;
    char *path;                     /* encoded, as requests have it */
    char *etag;                     /* as the server sent it, or NULL */
    uint64_t stamp;                 /* etag_stamp of the ETag, if only that is known; or 0 */
    char *modified;                 /* Last-Modified, which identifies the object if the ETag
                                       cannot; or NULL. If an object has neither, its replacement
                                       by one of the same size goes unnoticed. */
    bool is_new;                    /* the object was opened without a request: the first
                                       response describes it, and all others must agree */
    bool is_fixed;                  /* the URL always names the same content, so neither ETag nor
                                       time is kept */
    int (*classify)(struct request *request, bool *again, struct sheaf_error *err);
    struct http_header headers[2];  /* headers that each read has in addition to its own */
    size_t header_count;
    pthread_mutex_t lock;           /* guards each read's `state` and the fields that a first
                                       response sets */
};

/* The functions of struct store_ops for reading. The object must be a remote_object. */
int remote_read(struct store_object *object, uint64_t offset, void *data, size_t size,
                struct sheaf_error *err);
void remote_read_start(struct store_read *read);
void remote_read_cancel(struct store_read *read);

/* Fills the common fields. Takes ownership of the strings, also on failure. */
int remote_object_init(struct remote_object *object, const struct store_ops *ops,
                       const char *url, int url_size, char *path, struct sheaf_error *err);
/* A store_ops.close for an object without further fields. */
void remote_close(struct store_object *object);

/* Returns whether the response to a GET of an object's first byte tells the object's size. An empty
 * object has no first byte (416, or 206 without bytes). Some servers send the whole object instead,
 * which fails the exchange as HTTP_TOO_LONG. */
bool remote_parse_size(const struct http_exchange *exchange, uint64_t *bytes);

/* Parses "bytes 0-99/1000" and "bytes * /1000" (without the blank). A total of '*' becomes
 * UINT64_MAX. Returns false for other texts. For the second form, *first > *last. */
bool remote_parse_range(const char *text, uint64_t *first, uint64_t *last, uint64_t *total);

#endif
