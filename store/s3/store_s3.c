/* SPDX-License-Identifier: MIT
 *
 * The tables of functions of the stores for S3 and Google Cloud Storage. This file also opens
 * objects, and has the short functions of the tables. remote_read.c reads, s3_upload.c writes, and
 * s3_list.c lists. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/etag.h"
#include "store/over.h"
#include "store/remote_read.h"
#include "store/s3/s3.h"
#include "store/s3/s3_google.h"
#include "store/s3/s3_ops.h"
#include "store/s3/s3_upload.h"

/* Computes the path and the headers that all reads of an object have in common. Returns the path,
 * and stores the headers in `o`. The path has the form "/encoded%20key"; a request puts "/bucket"
 * before it if necessary. */
static char *store_s3_take_path(struct remote_object *o, const struct s3_bucket *bucket,
                                const char *key, struct sheaf_error *err)
{
    struct request r;
    char *path = NULL;

    if (s3_request_init(&r, bucket, HTTP_GET, key, NULL, 0, "opening", err) == SHEAF_OK) {
        path = r.path;
        r.path = NULL;
        o->header_count = MIN(r.header_count, COUNT_OF(o->headers));
        memcpy(o->headers, r.headers, o->header_count * sizeof(o->headers[0]));
        r.header_count = 0;
    }
    request_free(&r);
    return path;
}

static int need_key(const char *url, const char *key, struct sheaf_error *err)
{
    return *key != '\0' ? SHEAF_OK : err_set(err, SHEAF_ERR_ARGUMENT, "%s: is a bucket, not an "
                                             "object", url);
}

static int locate_object(const char *url, const struct s3_bucket **bucket, char **key,
                         struct sheaf_error *err)
{
    const int code = s3_locate(url, bucket, key, err);

    return code == SHEAF_OK ? need_key(url, *key, err) : code;
}

/* Completes the opening of the object `o`, whose size and other facts the caller has set. `code` is
 * the caller's result so far. If `code` is an error, or if the function itself fails, frees `o` and
 * returns the error. Otherwise sets *object to the opened object. */
static int finish_open(struct remote_object *o, const char *url, const struct s3_bucket *bucket,
                       const char *key, int code, struct store_object **object,
                       struct sheaf_error *err)
{
    if (code == SHEAF_OK) {
        o->target = &bucket->target;
        o->classify = aws_classify;
        code = remote_object_init(o, bucket->is_google ? &store_gs_ops : &store_s3_ops, url,
                                  (int)strlen(url), store_s3_take_path(o, bucket, key, err), err);
    }
    if (code == SHEAF_OK)
        *object = &o->base;
    else
        remote_close(&o->base);
    return code;
}

static int s3_open(const char *url, struct store_object **object, struct sheaf_error *err)
{
    const struct s3_bucket *bucket;
    struct remote_object *o = calloc(1, sizeof(*o));
    struct s3_head head = { 0 };
    char *key = NULL;
    int code;

    if (o == NULL)
        return err_memory(err, sizeof(*o));
    code = locate_object(url, &bucket, &key, err);
    if (code == SHEAF_OK)
        code = s3_head(bucket, key, &head, err);
    o->etag = head.etag;
    o->base.version = etag_is_strong(o->etag) ? o->etag : NULL;
    head.etag = NULL;
    o->base.bytes = head.bytes;
    code = finish_open(o, url, bucket, key, code, object, err);
    s3_head_free(&head);
    free(key);
    return code;
}

static int s3_open_known(const char *url, uint64_t bytes, uint64_t stamp,
                         struct store_object **object, struct sheaf_error *err)
{
    const struct s3_bucket *bucket;
    struct remote_object *o = calloc(1, sizeof(*o));
    char *key = NULL;
    int code;

    if (o == NULL)
        return err_memory(err, sizeof(*o));
    o->stamp = stamp;
    o->is_new = stamp == 0;
    o->base.bytes = bytes;
    code = locate_object(url, &bucket, &key, err);
    code = finish_open(o, url, bucket, key, code, object, err);
    free(key);
    return code;
}

static int s3_size(const char *url, uint64_t *bytes, struct sheaf_error *err)
{
    const struct s3_bucket *bucket;
    struct s3_head head = { 0 };
    char *key = NULL;
    int code = locate_object(url, &bucket, &key, err);

    if (code == SHEAF_OK)
        code = s3_head(bucket, key, &head, err);
    *bytes = head.bytes;
    s3_head_free(&head);
    free(key);
    return code;
}

/* Sets *is to whether ETags in this bucket can be MD5s. In a directory bucket, ETags are never
 * MD5s. */
static int s3_etag_is_md5(const char *url, bool *is, struct sheaf_error *err)
{
    const struct s3_bucket *bucket;
    struct s3_head head = { 0 };
    char *key = NULL;
    int code = s3_locate(url, &bucket, &key, err);

    if (code == SHEAF_OK)
        code = s3_head(bucket, key, &head, err);
    if (code == SHEAF_OK)
        *is = head.etag_may_be_md5 && !bucket->is_express;
    s3_head_free(&head);
    free(key);
    return code;
}

static int remove_key(const struct s3_bucket *bucket, const char *key,
                      const struct store_seen *seen, struct sheaf_error *err)
{
    struct request r;
    int code = s3_request_init(&r, bucket, HTTP_DELETE, key, NULL, 0, "removing", err);

    if (code == SHEAF_OK)
        code = s3_require(&r, seen, s3_wants_bare_etags(bucket), err);
    if (code == SHEAF_OK)
        code = request_run(&r, err);
    request_free(&r);
    return code;
}

/* Removes an object if it is still the object that the caller has seen. Many servers ignore this
 * condition and remove any object. Therefore over.c compares the object just before it calls this
 * function. On such a server, only this comparison protects a changed object.
 *
 * If the response to an earlier attempt was lost, that attempt may have removed the object. Some
 * servers then answer the next attempt with 404. Others answer as if there were another object. So
 * after such an answer, the function checks whether there is still an object. */
static int s3_remove_over(const char *url, const struct store_seen *seen, struct sheaf_error *err)
{
    const struct s3_bucket *bucket;
    struct store_seen now;
    char *key = NULL;
    int code = locate_object(url, &bucket, &key, err);

    if (code == SHEAF_OK) {
        code = remove_key(bucket, key, seen, err);
        if (code == SHEAF_ERR_UNSUPPORTED)
            code = remove_key(bucket, key, NULL, err);
    }
    free(key);
    if (code == SHEAF_ERR_CHANGED && store_see(url, &now, NULL) == SHEAF_OK && !now.is_there)
        code = SHEAF_OK;
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

/* Removes an object. Some servers answer 404 if the object does not exist, for example because an
 * earlier attempt has removed it. */
static int s3_remove(const char *url, struct sheaf_error *err)
{
    const struct s3_bucket *bucket;
    char *key = NULL;
    int code = locate_object(url, &bucket, &key, err);

    if (code == SHEAF_OK)
        code = remove_key(bucket, key, NULL, err);
    free(key);
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

/* Checks the name of a directory, so that an invalid name is found early. Creates nothing, because
 * S3 has no directories. */
static int s3_make_directory(const char *url, struct made_directories *made,
                             struct sheaf_error *err)
{
    const struct s3_bucket *bucket;
    char *key = NULL;
    int code = s3_locate(url, &bucket, &key, err);

    (void)made;
    free(key);
    return code;
}

static int s3_scope_open(const char *url, const char *const *texts, struct store_scope **scope,
                         struct sheaf_error *err)
{
    const struct s3_bucket *bucket;
    char *key = NULL;
    int code = s3_locate(url, &bucket, &key, err);

    if (code == SHEAF_OK)
        code = s3_scope_begin(bucket->scopes, bucket->name, key, texts, scope, err);
    free(key);
    return code;
}

/* ---- Google Cloud Storage -------------------------------------------------------------------- */

static int store_s3_refuse(const char *url, const char *what, struct sheaf_error *err)
{
    (void)what;
    return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: Google Cloud Storage can only be read here: "
                   "write to a local directory, and copy that with gcloud storage cp", url);
}

/* The functions for reading, which both tables share. */
#define READING                                                                                 \
    .open = s3_open, .read = remote_read, .read_start = remote_read_start,                      \
    .read_cancel = remote_read_cancel, .close = remote_close, .list = s3_list,                  \
    .list_directories = s3_list_directories, .walk = s3_walk, .stat_start = s3_stat_start,      \
    .open_known = s3_open_known, .etag_is_md5 = s3_etag_is_md5, .size = s3_size,                \
    .has_buckets = true

const struct store_ops store_gs_ops = {
    .scheme = S3_GOOGLE_SCHEME, .place = "Google Cloud Storage",
    READING,
    .refuse = store_s3_refuse,
};

/* ---- S3 -------------------------------------------------------------------------------------- */

const struct store_ops store_s3_ops = {
    .scheme = "s3", .place = "S3",
    READING,
    .create = s3_create,
    .part_bytes = s3_part_bytes,
    .create_within = s3_create_within,
    .write = s3_write,
    .end = s3_end,
    .commit = s3_commit,
    .commit_over = s3_commit_over,
    .abort = s3_abort,
    .clean = s3_clean,
    .clean_object = s3_clean_object,
    .remove = s3_remove,
    .remove_over = s3_remove_over,
    .make_directory = s3_make_directory,
    .find_abilities = s3_find_abilities,
    .scope_open = s3_scope_open,
    .scope_close = s3_scope_end,
};
