/* SPDX-License-Identifier: MIT
 *
 * The requests of a multipart upload, and the proof that its bytes arrived. The proof is the first
 * of the following that is available: a checksum that the store verifies and returns
 * (s3_checksum.h); the ETags of the parts, if they are MD5s; the mark, a number in the object's
 * metadata that no other upload has. (With encryption by KMS and without checksums, only the mark
 * is available. It shows that the object comes from this upload.) */
#ifndef STORE_S3_S3_UPLOAD_H
#define STORE_S3_S3_UPLOAD_H

#include "store/s3/s3.h"
#include "store/s3/s3_checksum.h"
#include "store/store.h"

#define S3_ETAG_SIZE 128
#define S3_PARTS_MOST 10000
#define S3_MARK_SIZE 33             /* 32 hex digits, and a NUL */

/* How it is proved that the store has received an object's bytes unchanged. */
struct s3_proving {
    const struct s3_checksum *checksum; /* NULL: none, so ETags are compared */
    /* whether the store keeps a checksum of the whole object, instead of a checksum of the
     * parts' checksums */
    bool of_whole;
    /* whether Content-MD5 is sent; any thread sets this field once the store requires it */
    bool content_md5;
    /* the bucket's record of whether the store verifies the checksum; until this is known, ETags
     * are compared as if there were no checksum */
    enum s3_repeats *repeats;
};
/* Returns how uploads of this object prove that its bytes arrived unchanged. This depends on the
 * bucket and on the user's settings for the key. */
struct s3_proving s3_proving_of(const struct s3_bucket *bucket, const char *key);

/* The checksums of the bytes of one part of an upload, and the ETag that the store has returned for
 * the part. */
struct s3_proof {
    uint64_t bytes;
    unsigned char md5[16];
    char md5_text[33];              /* "": not computed */
    uint64_t crc;                   /* with a checksum */
    char crc_text[S3_CRC_SIZE];     /* "" without */
    char etag[S3_ETAG_SIZE];        /* as answered */
    bool is_md5;                    /* the ETag was the MD5 */
};

/* A PUT request: sends a whole object, or one part of it if `upload_id` is set. */
struct s3_put {
    struct request request;
    struct s3_proving *proving;     /* of the object */
    struct s3_proof proof;
};
int s3_put_init(struct s3_put *put, const struct s3_bucket *bucket, const char *key,
                struct s3_proving *proving, const char *upload_id, unsigned number,
                const void *data, size_t size, struct sheaf_error *err);
/* Computes the checksums of the bytes and adds their headers to the request. Must be called before
 * the request is started. */
int s3_put_prove(struct s3_put *put, struct sheaf_error *err);
/* Computes the checksums, and runs the request. */
int s3_put_run(struct s3_put *put, struct sheaf_error *err);

/* Begins a multipart upload. Sets `mark` to a new number that is stored in the metadata of the
 * object, so that the object can be recognised. Sets proving->of_whole according to the
 * response. */
int s3_upload_begin(const struct s3_bucket *bucket, const char *key, struct s3_proving *proving,
                    char **upload_id, char mark[S3_MARK_SIZE], struct sheaf_error *err);
/* Adds a condition to a request that writes or removes an object: the name must still refer to the
 * object that was seen. Otherwise the request fails with SHEAF_ERR_CHANGED. If the store does not
 * support conditions, the request fails with SHEAF_ERR_UNSUPPORTED (if the store says so; some do
 * not). NULL means no condition. */
int s3_require(struct request *request, const struct store_seen *seen, struct sheaf_error *err);

/* Describes an object that has just been written. */
void s3_seen(struct store_seen *now, const char *etag, uint64_t bytes);

/* The upload to be completed. */
struct s3_completion {
    const struct s3_bucket *bucket;
    const char *key, *upload_id, *mark;
    const struct s3_proving *proving;
    const struct s3_proof *parts;
    unsigned count;
    uint64_t bytes;
    /* whether the store has completed the upload, even if a later check failed */
    bool is_done;
};
/* Completes an upload, if the name still refers to the object `seen` (see s3_require). Makes sure
 * that the object exists with all its bytes. *now describes the object. now->stamp is 0 if nothing
 * distinguishes the object from other objects of the same size. */
int s3_upload_complete(struct s3_completion *upload, const struct store_seen *seen,
                       struct store_seen *now, struct sheaf_error *err);
int s3_upload_abort(const struct s3_bucket *bucket, const char *key, const char *upload_id,
                    struct sheaf_error *err);

#endif
