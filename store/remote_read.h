/* SPDX-License-Identifier: MIT
 *
 * Reads an object over HTTP, for S3 and plain servers alike: ranged GETs, pinned to the object as
 * it was opened, into the caller's memory.  An interrupted transfer resumes at the last byte
 * received. */
#ifndef STORE_REMOTE_READ_H
#define STORE_REMOTE_READ_H

#include <pthread.h>

#include "store/request.h"
#include "store/store.h"

/* Reads of multiples of this are best: it is what S3's own clients take, a balance of the time
 * to the first byte against that of the rest. */
#define REMOTE_BLOCK ((size_t)8 << 20)

struct remote_object {
    struct store_object base;
    const struct target *target;
    char *path;                     /* encoded, as requests have it */
    char *etag;                     /* as the server gave it; NULL: none */
    uint64_t stamp;                 /* etag_stamp of it, where only that is known; or 0 */
    char *modified;                 /* Last-Modified, which pins where the ETag cannot; or NULL.
                                       An object with neither may be replaced by one of the same
                                       size without being found out */
    bool is_new;                    /* opened without asking: its first answer says what it is, and
                                       all others must agree */
    bool is_fixed;                  /* what its URL names never changes: neither is kept */
    int (*classify)(struct request *request, bool *again, struct sheaf_error *err);
    struct http_header headers[2];  /* that each read has, besides its own */
    size_t header_count;
    pthread_mutex_t lock;           /* of each read's `state`, and of what a first answer sets */
};

/* All three are store_ops calls; the object is a remote_object. */
int remote_read(struct store_object *object, uint64_t offset, void *data, size_t size,
                struct sheaf_error *err);
void remote_read_start(struct store_read *read);
void remote_read_cancel(struct store_read *read);

/* Fills what is common; the strings are taken, also on failure. */
int remote_object_init(struct remote_object *object, const struct store_ops *ops,
                       const char *url, int url_size, char *path, struct sheaf_error *err);
/* store_ops.close for one that was allocated as it is. */
void remote_close(struct store_object *object);

/* Returns whether an answer to a GET of an object's first byte says how large the object is.
 * An empty object has no first byte (416, or 206 without bytes); and some servers send the whole
 * object instead, which fails the exchange as HTTP_TOO_LONG. */
bool remote_parse_size(const struct http_exchange *exchange, uint64_t *bytes);

/* "bytes 0-99/1000" and "bytes * /1000" (without the blank); the total may be '*', UINT64_MAX
 * here.  False if it is neither.  For the second form, *first > *last. */
bool remote_parse_range(const char *text, uint64_t *first, uint64_t *last, uint64_t *total);

#endif
