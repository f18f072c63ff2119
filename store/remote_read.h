/* SPDX-License-Identifier: MIT
 *
 * Reads an object over HTTP, for S3 and for web servers. Each read is a GET of a range, and the
 * bytes of the response go directly into the caller's memory. Reads fail if the object is replaced
 * after it was opened. If a transfer is interrupted, the next attempt continues after the last
 * byte. */
#ifndef STORE_REMOTE_READ_H
#define STORE_REMOTE_READ_H

#include <pthread.h>

#include "store/request.h"
#include "store/store.h"

/* Best size of a read in bytes, which S3's own clients also use. A smaller read would mostly wait
 * for its first byte. With a larger read, the caller would wait longer until the whole read is
 * done. */
#define REMOTE_BLOCK ((size_t)8 << 20)

struct remote_object {
    struct store_object base;
    const struct target *target;
    char *path;                     /* encoded, as requests have it */
    char *etag;                     /* as the server sent it, or NULL */
    /* the object's stamp (a number computed from its ETag), if only the stamp is known and not the
     * ETag; otherwise 0 */
    uint64_t stamp;
    /* the object's header Last-Modified, or NULL if the server has sent none. The header identifies
     * the object if there is no usable ETag. If the server sends neither header, an object that has
     * been replaced by another of the same size is not noticed. */
    char *modified;
    /* set if the object was opened without a request: the first response then sets the size and
     * version of the object, and later responses must have the same size and version */
    bool is_new;
    /* whether the content at the URL can never change, as for a file of a commit on the Hugging
     * Face hub; ETag and time are then not compared */
    bool is_fixed;
    int (*classify)(struct request *request, bool *again, struct sheaf_error *err);
    /* headers that are sent with each read of this object, in addition to the headers that every
     * read has; the store sets them */
    struct http_header headers[2];
    size_t header_count;
    /* guards the field `state` of every read of this object, and the fields of the object that the
     * first response sets */
    pthread_mutex_t lock;
};

/* Functions that read remote objects, for the tables of remote stores (struct store_ops). `object`
 * must be a struct remote_object. */
int remote_read(struct store_object *object, uint64_t offset, void *data, size_t size,
                struct sheaf_error *err);
void remote_read_start(struct store_read *read);
void remote_read_cancel(struct store_read *read);

/* Sets the fields that all remote objects have. The object then owns the strings, even if the
 * function fails. */
int remote_object_init(struct remote_object *object, const struct store_ops *ops,
                       const char *url, int url_size, char *path, struct sheaf_error *err);
/* A store_ops.close for an object without further fields. */
void remote_close(struct store_object *object);

/* Finds the size of an object in the response to a GET of its first byte. Returns whether the
 * response shows the size, and sets *bytes. The size is 0 if the server answers with status 416, or
 * with 200 or 206 and no bytes. Some servers send the whole object instead of the first byte. The
 * exchange (a request and its response) then fails with HTTP_TOO_LONG, but the headers still have
 * the size. */
bool remote_parse_size(const struct http_exchange *exchange, uint64_t *bytes);

/* Finds the size of an object, with up to three requests. The first request is a GET of the
 * object's first bytes. Some servers answer with a range without the size of the object ("bytes
 * 0-99/" and an asterisk). In this case, the function changes the request to a HEAD. If the
 * response to the HEAD has no size either, the function changes the request to a GET of the last
 * byte.
 *
 * After each change, the function sets request->goes_on and returns false. It must then be called
 * for the next response. */
bool remote_find_size(struct request *request, uint64_t *bytes);

/* Parses the value of a header Content-Range, such as "bytes 0-99/1000". If the value has a '*' in
 * the place of the range "0-99", *first becomes greater than *last. If the value has a '*' in the
 * place of the size "1000", *total becomes UINT64_MAX. Returns false for any other text. */
bool remote_parse_range(const char *text, uint64_t *first, uint64_t *last, uint64_t *total);

#endif
