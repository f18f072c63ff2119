/* SPDX-License-Identifier: MIT
 *
 * An S3 service in the test's own process, over the scripted server: objects, conditions, ranges,
 * listings, multipart uploads, signatures checked on what came over the wire; and beside it, on
 * the same port, the places that give credentials: STS, CreateSession, a container's endpoint and
 * an instance's metadata.
 *
 *     PUT  /latest/api/token, GET /latest/meta-data/iam/security-credentials/...   instance
 *     GET  /container             with "authorization: container-token"            container
 *     POST /                      AssumeRole, AssumeRoleWithWebIdentity            STS
 *     GET  /federation/credentials  with "x-amz-sso_bearer_token: sso-token"       sign-on's portal
 *     GET  /BUCKET/?session       CreateSession
 *     *    /BUCKET/KEY            S3, path style, any bucket but "no-such-bucket" */
#ifndef TESTS_COMMON_FAKE_S3_H
#define TESTS_COMMON_FAKE_S3_H

#include "tests/common_fake_http.h"

#define FAKE_KEYS_MOST 256
#define FAKE_ACCESS "AKIAFAKE"
#define FAKE_SECRET "fake/secret+key"

struct fake_object {
    char *path;                 /* "/bucket/key", decoded */
    uint8_t *data;
    size_t size;
    char etag[48];              /* with quotes */
    char mark[40];              /* of its upload, see store/s3/s3_upload.h; "": none */
    struct fake_object *next;   /* in byte order of paths */
};

struct fake_part {
    uint8_t *data;
    size_t size;
    char md5[33];
};

struct fake_upload {
    char *path;
    char id[32];
    char mark[40];
    struct fake_part parts[100];
    struct fake_upload *next;
};

struct fake_key {
    char access[32], secret[64], token[64];     /* token "": none is needed */
    int64_t expires_ms;
    bool read_only;             /* of a session that was asked for as such */
};

/* Listings that never end.  But for the first two, each page names a token of its own. */
enum fake_listing {
    FAKE_LISTING_ENDS,
    FAKE_NO_TOKEN, FAKE_SAME_TOKEN,
    FAKE_SAME_PAGE, FAKE_CIRCLE,        /* the first page again; the first after some others */
    FAKE_EMPTY_PAGES,
};

/* What its answers name an object's content by. */
enum fake_etags { FAKE_STRONG_ETAGS, FAKE_WEAK_ETAGS, FAKE_ONLY_DATES, FAKE_NOTHING };

struct fake_s3 {
    struct fake_server *server;
    struct fake_object *objects;
    struct fake_upload *uploads;
    unsigned upload_number;
    struct fake_key keys[FAKE_KEYS_MOST];
    unsigned key_count;

    /* How it behaves; a test sets these by fake_s3_set(). */
    bool anonymous;             /* nobody has to sign */
    bool no_conditional_put;    /* If-None-Match: 501 */
    bool no_checksums;          /* x-amz-checksum-...: neither compared nor repeated */
    enum fake_etags etags;
    bool uploads_by_key;        /* uploads are listed for a prefix that is their key, as by MinIO */
    bool kms;                   /* ETags look like MD5s and are none, */
    bool hides_kms;             /* and answers do not say why */
    bool empty_complete;        /* CompleteMultipartUpload answers an empty ETag */
    unsigned page;              /* keys in a page of a listing; 1000 */
    enum fake_listing listing;
    bool raw_keys;              /* listings say that their keys are encoded, and they are not */
    bool no_listed_etags;
    unsigned pages;             /* of such a listing so far */
    int64_t life_ms;            /* of the credentials that it gives out; an hour */
    int64_t clock_ms;           /* its clock is that much ahead of ours */
    char *form;                 /* what STS was sent last */
    unsigned refused;           /* requests whose signature or credentials were not taken */
};

/* Evaluates `change` while no request is served: an abandoned request may still be under way. */
#define fake_s3_set(s3, change)                                                                    \
    do {                                                                                           \
        fake_server_lock((s3)->server);                                                            \
        (void)(change);                                                                            \
        fake_server_unlock((s3)->server);                                                          \
    } while (0)

void fake_s3_start(struct fake_s3 *s3);
void fake_s3_stop(struct fake_s3 *s3);

/* "http://127.0.0.1:PORT" in a static place. */
const char *fake_s3_endpoint(const struct fake_s3 *s3);
/* Sets the environment so that the store talks to it with the first key, and nothing of the
 * machine's own configuration is in the way; short waits between attempts, stalls found in
 * `stall_ms`. */
void fake_s3_use(const struct fake_s3 *s3, unsigned stall_ms);

/* NULL if there is none.  Not to be called while requests are under way. */
struct fake_object *fake_s3_object(const struct fake_s3 *s3, const char *path);
void fake_s3_put(struct fake_s3 *s3, const char *path, const void *data, size_t size);
unsigned fake_s3_uploads(const struct fake_s3 *s3);

/* ---- Shared by its files ---- */

/* The decoded value, to be freed; NULL if the query does not have it. */
char *fake_s3_parameter(const struct fake_request *request, const char *name);
void fake_s3_list_objects(struct fake_s3 *s3, const struct fake_request *request,
                          const char *bucket, struct fake_answer *answer);
void fake_s3_list_for_ever(struct fake_s3 *s3, const struct fake_request *request,
                           struct fake_answer *answer);
void fake_s3_list_uploads(struct fake_s3 *s3, const struct fake_request *request,
                          const char *bucket, struct fake_answer *answer);

void fake_s3_error(struct fake_answer *answer, int status, const char *code, const char *more);
/* Whether the request is for a place that gives credentials, and then the answer. */
bool fake_aws_credentials(struct fake_s3 *s3, const struct fake_request *request,
                          struct fake_answer *answer);
/* Whether it is signed by somebody known; if not, the answer. */
bool fake_aws_check(struct fake_s3 *s3, const struct fake_request *request,
                    struct fake_answer *answer);
/* A key for ever, the first; or one with a token, for the time that the service gives. */
const struct fake_key *fake_aws_new_key(struct fake_s3 *s3, bool has_token);

#endif
