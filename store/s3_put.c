/* SPDX-License-Identifier: MIT
 *
 * A small object that must not be there yet: a manifest, of which there can be only one.
 *
 * Where the store knows If-None-Match it decides between two that come at once.  An attempt whose
 * answer was lost may have written the object, and the next one is then refused because of it; so
 * after a refusal the object's bytes are compared with ours.  (Attempts cannot be counted for
 * this: libcurl sends a request again by itself when a kept connection is closed on it.) */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/s3_ops.h"
#include "store/s3_upload.h"

static int put(const struct s3_bucket *bucket, const char *key, const void *data, size_t size,
               bool conditional, struct sheaf_error *err)
{
    struct s3_put put;
    int code = s3_put_init(&put, bucket, key, NULL, 0, data, size, err);

    if (code == SHEAF_OK && conditional)
        code = request_set_header(&put.request, "if-none-match", "*", err);
    if (code == SHEAF_OK)
        code = s3_put_run(&put, bucket, err);
    request_free(&put.request);
    return code;
}

static int exists(const char *url, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_EXISTS, "%s: already exists", url);
}

static bool is_ours(const char *url, const void *data, size_t size)
{
    char *there = NULL;
    size_t there_size = 0;
    const bool same = store_get(url, size, &there, &there_size, NULL) == SHEAF_OK &&
                      there_size == size && (size == 0 || memcmp(there, data, size) == 0);

    free(there);
    return same;
}

/* For stores that do not know the condition: a look first. */
static int look_and_put(const struct s3_bucket *bucket, const char *key, const char *url,
                        const void *data, size_t size, struct sheaf_error *err)
{
    struct s3_head head;
    int code = s3_head(bucket, key, &head, err);

    if (code == SHEAF_OK) {
        s3_head_free(&head);
        return exists(url, err);
    }
    if (code != SHEAF_ERR_NOT_FOUND)
        return code;
    return put(bucket, key, data, size, false, err);
}

int s3_put_new(const char *url, const void *data, size_t size, struct sheaf_error *err)
{
    const struct s3_bucket *bucket;
    char *key = NULL;
    int code = s3_locate(url, &bucket, &key, err);

    if (code == SHEAF_OK)
        code = put(bucket, key, data, size, true, err);
    if (code == SHEAF_ERR_CHANGED)
        code = is_ours(url, data, size) ? SHEAF_OK : exists(url, err);
    else if (code == SHEAF_ERR_UNSUPPORTED)
        code = look_and_put(bucket, key, url, data, size, err);
    free(key);
    return code;
}
