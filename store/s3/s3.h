/* SPDX-License-Identifier: MIT
 *
 * S3: finds the servers of a bucket, and makes requests to them. A struct s3_bucket has the servers
 * of one bucket, and says how requests to them are signed. The S3 context of the process has the
 * configuration, the credentials, and all buckets that the process has used.
 *
 * A bucket whose name ends in --ZONE--x-s3 is a directory bucket (S3 Express One Zone). Its
 * requests are signed with the temporary keys of a session, which is valid for five minutes and is
 * renewed in time. Read requests use a session of their own, which may only read. So a program that
 * only reads needs no permission to write.
 *
 * If the service says that a bucket is in another region, all further requests go to that region.
 * Google Cloud Storage understands the same requests (s3_google.h). */
#ifndef STORE_S3_S3_H
#define STORE_S3_S3_H

#include <pthread.h>

#include "store/abilities.h"
#include "store/request.h"
#include "store/s3/aws_error.h"
#include "store/s3/credentials.h"
#include "store/s3/s3_checksum.h"
#include "store/s3/s3_scope.h"
#include "store/s3/sigv4.h"

/* Says whether the server repeats the checksum of a request in its response. A server that does not
 * repeat it has probably ignored it. Sending the checksum then proves nothing. */
enum s3_repeats { S3_REPEATS_UNKNOWN, S3_REPEATS_IT, S3_REPEATS_NOTHING };

/* The abilities of a bucket's server (s3_abilities.c). */
struct s3_known {
    pthread_mutex_t lock;
    bool is_tried;
    struct store_abilities abilities;
    /* whether the server compares the ETag of If-Match without its quotes, as radosgw does; set
     * after the server has wrongly refused a write with quotes (s3_writer.c). Atomic. */
    bool bare_etags;
};

struct s3_bucket {
    struct target target;
    /* the server to which writes to a directory bucket are sent, with a session (temporary keys)
     * that may write; not used for other buckets */
    struct target writing;
    /* the server to which requests go if the bucket was found in a region other than the configured
     * region; its `origin` is NULL as long as no other region was found */
    struct target there;
    char *regions[2];           /* of `target` and `there` */
    const char *scheme;         /* "s3", "gs" */
    bool is_google;
    char *name;
    bool is_express;
    bool checksums;             /* whether uploads carry a checksum, unless settings say
                                   otherwise */
    enum s3_repeats repeats_now;
    enum s3_repeats *repeats;   /* atomic: also for holders of a const bucket */
    struct s3_known known_now;
    struct s3_known *known;     /* the same: also for holders of a const bucket */
    const struct s3_config *config;
    struct s3_scopes *scopes;   /* all buckets' */
    struct s3_bucket *next;
};

/* Finds the bucket and the key of s3://BUCKET/KEY or gs://BUCKET/KEY. *bucket stays valid as long
 * as the process. The caller must free *key. */
int s3_locate(const char *url, const struct s3_bucket **bucket, char **key,
              struct sheaf_error *err);

/* Finds the bucket of the directory `url`, and the prefix of the keys of its objects, which is ""
 * or ends with '/'. The caller must free *prefix. */
int s3_locate_directory(const char *url, const struct s3_bucket **bucket, char **prefix,
                        struct sheaf_error *err);

/* s3_settings_for returns the settings for requests to the object `key`, or to all objects whose
 * keys begin with `key`. s3_checksum_for returns the kind of checksum that is sent with the object
 * `key`, or NULL if no checksum is sent. */
const struct s3_settings *s3_settings_for(const struct s3_bucket *bucket, const char *key);
const struct s3_checksum *s3_checksum_for(const struct s3_bucket *bucket, const char *key);

/* Initialises a request to an object, or to the bucket if `key` is "". `doing` is the verb in
 * messages, such as "reading". The function sorts the parameters in `query`. The caller must call
 * request_free even after a failure. */
int s3_request_init(struct request *request, const struct s3_bucket *bucket,
                    enum http_method method, const char *key, struct sigv4_pair *query,
                    size_t query_count, const char *doing, struct sheaf_error *err);

/* Returns whether a test has found that the server of this bucket ignores conditions on writes. */
bool s3_ignores_conditions(const struct s3_bucket *bucket);

#define S3_MARK "x-amz-meta-sheaf-upload"       /* the header of an upload's mark */

/* Facts about an object, from the response to a HEAD. A text that is unknown is NULL. The caller
 * must free the texts with s3_head_free. */
struct s3_head {
    uint64_t bytes;
    char *etag;
    char *crc;                  /* the checksum that writes to it carry */
    bool etag_may_be_md5;
    char *mark;                 /* mark of the upload that made it; see s3_upload.h */
};
void s3_head_free(struct s3_head *head);
int s3_head(const struct s3_bucket *bucket, const char *key, struct s3_head *head,
            struct sheaf_error *err);

/* Returns whether the ETag in a response may be the MD5 of the object. Returns false if the object
 * is encrypted with a key of KMS or of the customer. Its ETag is then not its MD5, even if it has
 * the form of an MD5. */
bool s3_etag_may_be_md5(const struct request *request);

#endif
