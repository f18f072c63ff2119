/* SPDX-License-Identifier: MIT
 *
 * S3: the location of a bucket, and requests to it. A struct s3_bucket has the servers to which
 * requests for the bucket are sent, and says how they are signed. The S3 context of a process has
 * the configuration, the credentials, and the buckets that the process has used.
 *
 * Buckets whose name ends in --ZONE--x-s3 are directory buckets (S3 Express One Zone). Requests to
 * them are signed with the keys of a session that lasts five minutes. The session is obtained and
 * renewed like other temporary credentials. Reads use a session that is only allowed to read, so
 * that a program that only reads needs no other permission.
 *
 * If the service says that a bucket is in another region, all further requests go to that region.
 *
 * Google Cloud Storage answers the same requests (s3_google.h). */
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

/* Tells whether responses to requests with a checksum repeat the checksum. A store that does not
 * repeat it has ignored it. */
enum s3_repeats { S3_REPEATS_UNKNOWN, S3_REPEATS_IT, S3_REPEATS_NOTHING };

/* The abilities of a bucket's server (s3_abilities.c). */
struct s3_known {
    pthread_mutex_t lock;
    bool is_tried;
    struct store_abilities abilities;
};

struct s3_bucket {
    struct target target;
    /* for a directory bucket: the target for writes, with a session that is allowed to write */
    struct target writing;
    /* the target in the region where the bucket was found; its origin is NULL if the bucket has
     * not moved */
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

/* Finds the bucket and the key of s3://BUCKET/KEY or gs://BUCKET/KEY. The bucket is valid as long
 * as the process; the caller frees the key. */
int s3_locate(const char *url, const struct s3_bucket **bucket, char **key,
              struct sheaf_error *err);

/* Finds the bucket of the directory `url`, and the prefix of its objects' keys, which is "" or
 * "key/". The caller frees the prefix. */
int s3_locate_directory(const char *url, const struct s3_bucket **bucket, char **prefix,
                        struct sheaf_error *err);

/* s3_settings_for returns the settings for requests to an object, or to all keys with a prefix.
 * s3_checksum_for returns the kind of checksum that is sent with written data, or NULL for none. */
const struct s3_settings *s3_settings_for(const struct s3_bucket *bucket, const char *key);
const struct s3_checksum *s3_checksum_for(const struct s3_bucket *bucket, const char *key);

/* Initialises a request to an object, or to the bucket if the key is "". Messages contain `doing`
 * (such as "reading") before the name. The query pairs are sorted. The caller must call
 * request_free in any case. */
int s3_request_init(struct request *request, const struct s3_bucket *bucket,
                    enum http_method method, const char *key, struct sigv4_pair *query,
                    size_t query_count, const char *doing, struct sheaf_error *err);

/* Returns whether a test has shown that the bucket's server ignores conditions on writes. */
bool s3_ignores_conditions(const struct s3_bucket *bucket);

#define S3_MARK "x-amz-meta-sheaf-upload"       /* the header of an upload's mark */

/* The result of a HEAD request for an object. The caller frees the strings. A string is NULL if it
 * is unknown. */
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

/* Returns whether an ETag that looks like an MD5 can be the MD5 of the object. It cannot be if the
 * object is encrypted with a key. */
bool s3_etag_may_be_md5(const struct request *request);

#endif
