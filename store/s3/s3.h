/* SPDX-License-Identifier: MIT
 *
 * S3: where a bucket is, and requests to it.  A bucket is a target of requests with a name; the
 * context has the configuration and the credentials, and the buckets that were asked for.
 *
 * Buckets whose name ends in --ZONE--x-s3 are directory buckets (S3 Express One Zone): requests
 * to them are signed with the keys of a session of five minutes, which is got and renewed like
 * any other temporary credentials: one that may only read for what reads, so that those who only
 * read need no other right.
 *
 * Where the service says that a bucket is in another region, all further requests go there.
 *
 * Google Cloud Storage answers the same requests (s3_google.h). */
#ifndef STORE_S3_S3_H
#define STORE_S3_S3_H

#include "store/request.h"
#include "store/s3/aws_error.h"
#include "store/s3/s3_checksum.h"
#include "store/s3/s3_scope.h"

/* Whether the last answer to a checksum that was sent repeated it: a store that does not ignores
 * it. */
enum s3_repeats { S3_REPEATS_UNKNOWN, S3_REPEATS_IT, S3_REPEATS_NOTHING };

struct s3_bucket {
    struct target target;
    struct target writing;      /* of a directory bucket: with a session that may write */
    struct target there;        /* where the bucket was found to be; origin NULL: not */
    char *regions[2];           /* of `target` and `there` */
    const char *scheme;         /* "s3", "gs" */
    bool is_google;
    char *name;
    bool is_express;
    bool checksums;             /* uploads carry a checksum, unless settings say otherwise */
    enum s3_repeats repeats_now;
    enum s3_repeats *repeats;   /* atomic: it, for those who change nothing else */
    const struct s3_config *config;
    struct s3_scopes *scopes;   /* all buckets' */
    struct s3_bucket *next;
};

/* The bucket of s3://BUCKET/KEY or gs://BUCKET/KEY, which lives as long as the process, and the
 * key, to be freed. */
int s3_locate(const char *url, const struct s3_bucket **bucket, char **key,
              struct sheaf_error *err);

/* The directory that `url` names, as the prefix of its objects' keys: "" or "key/"; to be freed. */
int s3_locate_directory(const char *url, const struct s3_bucket **bucket, char **prefix,
                        struct sheaf_error *err);

/* The settings of requests to an object, or to keys with a prefix, whoever writes there or not;
 * and the checksum that is sent with what is written, NULL for none. */
const struct s3_settings *s3_settings_for(const struct s3_bucket *bucket, const char *key);
const struct s3_checksum *s3_checksum_for(const struct s3_bucket *bucket, const char *key);

/* A request to an object, or with key "" to the bucket.  `doing` goes before the name in
 * messages ("reading").  The pairs are put in order.  request_free must be called in any case. */
int s3_request_init(struct request *request, const struct s3_bucket *bucket,
                    enum http_method method, const char *key, struct sigv4_pair *query,
                    size_t query_count, const char *doing, struct sheaf_error *err);

#define S3_MARK "x-amz-meta-sheaf-upload"       /* the header of an upload's mark */

/* What HEAD says of an object; the strings are to be freed, and NULL for what it does not say. */
struct s3_head {
    uint64_t bytes;
    char *etag;
    char *crc;                  /* the checksum that writes of it have */
    bool etag_may_be_md5;
    char *mark;                 /* of the upload that it came from; see s3_upload.h */
};
void s3_head_free(struct s3_head *head);
int s3_head(const struct s3_bucket *bucket, const char *key, struct s3_head *head,
            struct sheaf_error *err);

/* Whether an answer is of an object whose ETag, where it looks like an MD5, is one: not if it is
 * encrypted with a key of somebody's. */
bool s3_etag_may_be_md5(const struct request *request);

#endif
