/* SPDX-License-Identifier: MIT
 *
 * Sends the requests of a multipart upload, and proves that the bytes have arrived unchanged. The
 * proof is one of these, depending on the store:
 * - a checksum that the store checks and returns (s3_checksum.h);
 * - the ETags of the parts, if they are MD5s;
 * - the mark, a number that only this upload has stored in the metadata of the object.
 *
 * The mark proves only that the object comes from this upload, and not that its bytes are
 * unchanged. It is the only proof if the object is encrypted by KMS and the store has no
 * checksums. */
#ifndef STORE_S3_S3_UPLOAD_H
#define STORE_S3_S3_UPLOAD_H

#include "store/s3/s3.h"
#include "store/s3/s3_checksum.h"
#include "store/store.h"

#define S3_ETAG_SIZE 128
#define S3_PARTS_MOST 10000
#define S3_MARK_SIZE 33             /* 32 hex digits, and a NUL */

/* Says by which means the writer proves that the store has received an object unchanged. */
struct s3_proving {
    const struct s3_checksum *checksum; /* NULL: none, so ETags are compared */
    /* whether the store computes a checksum of the whole object; if false, it only computes a
     * checksum of the checksums of the parts */
    bool of_whole;
    /* whether the header Content-MD5 is sent; any thread may set it after the store has required
     * the header */
    bool content_md5;
    /* whether the store returns checksums, which shows that it checks them; shared by all uploads
     * to the bucket. As long as this is unknown, ETags are compared as well. */
    enum s3_repeats *repeats;
};
/* Returns the means by which it is proved that an upload of this object has arrived unchanged. The
 * means depend on the bucket and on the user's settings. */
struct s3_proving s3_proving_of(const struct s3_bucket *bucket, const char *key);

/* One part of an upload: the checksums of the bytes that were sent, and the ETag that the store has
 * returned. */
struct s3_proof {
    uint64_t bytes;
    unsigned char md5[16];
    char md5_text[33];              /* "": not computed */
    uint64_t crc;                   /* with a checksum */
    char crc_text[S3_CRC_SIZE];     /* "" without */
    char etag[S3_ETAG_SIZE];        /* as answered; "": none */
    bool is_md5;                    /* the ETag was the MD5 */
};

/* A PUT request that sends a whole object, or one part of an object if upload_id is set. */
struct s3_put {
    struct request request;
    struct s3_proving *proving;     /* of the object */
    struct s3_proof proof;
};
int s3_put_init(struct s3_put *put, const struct s3_bucket *bucket, const char *key,
                struct s3_proving *proving, const char *upload_id, unsigned number,
                const void *data, size_t size, struct sheaf_error *err);
/* Computes the checksums of the bytes, and sets their headers. Must be called before the request is
 * started. */
int s3_put_prove(struct s3_put *put, struct sheaf_error *err);
/* Computes the checksums, and runs the request. */
int s3_put_run(struct s3_put *put, struct sheaf_error *err);

/* Begins a multipart upload. `mark` becomes a random number that is stored in the metadata of the
 * object, so that the object can be recognised later. Sets proving->of_whole to whether the store
 * will compute a checksum of the whole object, as its response says. */
int s3_upload_begin(const struct s3_bucket *bucket, const char *key, struct s3_proving *proving,
                    char **upload_id, char mark[S3_MARK_SIZE], struct sheaf_error *err);
/* Adds a condition to a request that writes or removes an object. The condition is that the object
 * is still the one that `seen` describes. If `seen` describes a missing object, the condition is
 * that there is still no object. If the condition is false, the request fails with
 * SHEAF_ERR_CHANGED. In a store without conditions, the request may fail with
 * SHEAF_ERR_UNSUPPORTED, but some stores silently ignore the condition.
 *
 * No condition is added if `seen` is NULL, or is an object without a strong ETag. `bare` says
 * whether the ETag is sent without its quotes (see s3_wants_bare_etags). */
int s3_require(struct request *request, const struct store_seen *seen, bool bare,
               struct sheaf_error *err);
/* Returns whether the server of the bucket is known to compare the ETag of If-Match without its
 * quotes. */
bool s3_wants_bare_etags(const struct s3_bucket *bucket);

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
    bool bare_etags;            /* as `bare` of s3_require */
    /* whether the store has completed the upload, so that the object exists. The field stays true
     * if a later check of the object fails. */
    bool is_done;
};
/* Completes an upload if the name still has the object `seen` (see s3_require). Then checks that
 * the object exists with all its bytes. *now describes the object. now->stamp is 0 if the store
 * returns nothing that distinguishes the object from other objects of the same size. */
int s3_upload_complete(struct s3_completion *upload, const struct store_seen *seen,
                       struct store_seen *now, struct sheaf_error *err);
int s3_upload_abort(const struct s3_bucket *bucket, const char *key, const char *upload_id,
                    struct sheaf_error *err);

#endif
