/* SPDX-License-Identifier: MIT
 *
 * An S3 service in the test's own process, built on the scripted server. It has objects,
 * conditions, ranges, listings and multipart uploads, and checks the signatures of the requests as
 * they were received. On the same port it also gives out credentials:
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
    char mark[40];              /* of the object's upload (store/s3/s3_upload.h); "": none */
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
    char access[32], secret[64], token[64];     /* if `token` is "", the key needs none */
    int64_t expires_ms;
    bool read_only;             /* for a session that was requested for reading only */
};

/* Listings that never end. Except for the first two kinds, each page names another token. */
enum fake_listing {
    FAKE_LISTING_ENDS,
    FAKE_NO_TOKEN, FAKE_SAME_TOKEN,
    FAKE_SAME_PAGE, FAKE_CIRCLE,        /* repeats the first page, or a cycle of pages */
    FAKE_EMPTY_PAGES,
};

/* How responses identify the content of an object. */
enum fake_etags { FAKE_STRONG_ETAGS, FAKE_WEAK_ETAGS, FAKE_ONLY_DATES, FAKE_NOTHING };

struct fake_s3 {
    struct fake_server *server;
    struct fake_object *objects;
    struct fake_upload *uploads;
    unsigned upload_number;
    struct fake_key keys[FAKE_KEYS_MOST];
    unsigned key_count;

    /* The behaviour of the service. A test sets these fields by fake_s3_set(). */
    bool anonymous;             /* requests need no signature */
    bool no_conditional_put;    /* a condition If-None-Match gets the status 501 */
    bool no_checksums;          /* ignores checksums: neither compares nor returns them */
    enum fake_etags etags;
    /* lists uploads only for a prefix that is a whole key, like MinIO */
    bool uploads_by_key;
    bool kms;                   /* ETags look like MD5s but are not MD5s */
    bool hides_kms;             /* with `kms`: responses do not mention the encryption */
    bool empty_complete;        /* CompleteMultipartUpload returns an empty ETag */
    unsigned page;              /* number of keys on a page of a listing; default 1000 */
    enum fake_listing listing;
    bool raw_keys;              /* listings falsely say that their keys are encoded */
    bool no_listed_etags;
    unsigned pages;             /* number of pages of a never-ending listing so far */
    int64_t life_ms;            /* life of the credentials that it gives out; default 1 hour */
    int64_t clock_ms;           /* how far the service's clock is ahead of ours */
    char *form;                 /* the form of the last request to STS */
    unsigned refused;           /* number of requests with bad signatures or credentials */
};

/* Evaluates `change` while the service handles no request, because an abandoned request may still
 * be in progress. */
#define fake_s3_set(s3, change)                                                                    \
    do {                                                                                           \
        fake_server_lock((s3)->server);                                                            \
        (void)(change);                                                                            \
        fake_server_unlock((s3)->server);                                                          \
    } while (0)

void fake_s3_start(struct fake_s3 *s3);
void fake_s3_stop(struct fake_s3 *s3);

/* Returns "http://127.0.0.1:PORT", in static memory. */
const char *fake_s3_endpoint(const struct fake_s3 *s3);
/* Sets environment variables so that the store uses this service with the first key, and ignores
 * the machine's own configuration. Waits between attempts are short, and a transfer counts as
 * stalled after `stall_ms`. */
void fake_s3_use(const struct fake_s3 *s3, unsigned stall_ms);

/* Returns an object, or NULL if there is none. Must not be called while requests are in
 * progress. */
struct fake_object *fake_s3_object(const struct fake_s3 *s3, const char *path);
void fake_s3_put(struct fake_s3 *s3, const char *path, const void *data, size_t size);
unsigned fake_s3_uploads(const struct fake_s3 *s3);

/* ---- Shared by its files ---- */

/* Returns the decoded value of a query parameter, or NULL if the query does not have it. The caller
 * frees the value. */
char *fake_s3_parameter(const struct fake_request *request, const char *name);
void fake_s3_list_objects(struct fake_s3 *s3, const struct fake_request *request,
                          const char *bucket, struct fake_answer *answer);
void fake_s3_list_for_ever(struct fake_s3 *s3, const struct fake_request *request,
                           struct fake_answer *answer);
void fake_s3_list_uploads(struct fake_s3 *s3, const struct fake_request *request,
                          const char *bucket, struct fake_answer *answer);

/* Sets the response to an error of tests/s3/rules.def. `more` is added to its elements. */
void fake_s3_error(struct fake_answer *answer, const char *code, const char *more);
/* Returns whether the request goes to an endpoint that gives out credentials. If so, sets the
 * response. */
bool fake_aws_credentials(struct fake_s3 *s3, const struct fake_request *request,
                          struct fake_answer *answer);
/* Returns whether the request is signed with a known key. If not, sets the response. */
bool fake_aws_check(struct fake_s3 *s3, const struct fake_request *request,
                    struct fake_answer *answer);
/* Makes a key. A key with a token expires after the time that the service sets; a key without one
 * never expires. */
const struct fake_key *fake_aws_new_key(struct fake_s3 *s3, bool has_token);

#endif
