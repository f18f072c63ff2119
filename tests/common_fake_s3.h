/* SPDX-License-Identifier: MIT
 *
 * An S3 service, built on the scripted server. Unit tests start it in their own process. For the
 * tests in Python it is a program, tests/fake_s3.c. It has objects, conditions, ranges, listings,
 * checksums and multipart uploads, and checks the signatures of the requests as they were received.
 * A test can set the requirements of a bucket, the dialect of another server, and random faults.
 * On the same port the service also gives out credentials:
 *
 *     PUT  /latest/api/token, GET /latest/meta-data/iam/security-credentials/...   instance
 *     GET  /container             with "authorization: container-token"            container
 *     POST /                      AssumeRole, AssumeRoleWithWebIdentity            STS
 *     GET  /federation/credentials  with "x-amz-sso_bearer_token: sso-token"       sign-on's portal
 *     GET  /BUCKET/?session       CreateSession
 *     *    /BUCKET/KEY            S3, path style, any bucket but "no-such-bucket" */
#ifndef TESTS_COMMON_FAKE_S3_H
#define TESTS_COMMON_FAKE_S3_H

#include <regex.h>

#include "base/rng.h"
#include "tests/common_fake_http.h"

#define FAKE_KEYS_MOST 256
#define FAKE_ACCESS "AKIAFAKE"
#define FAKE_SECRET "fake/secret+key"

#define FAKE_PARTS_MOST 100
#define FAKE_FAULTS_MOST 64
#define FAKE_SUMS 2             /* kinds of checksums: CRC-64/NVME and CRC-32C */

/* The checksums of an object, as texts for headers. A text is "" if the object does not have this
 * kind of checksum. */
struct fake_sums {
    char text[FAKE_SUMS][24];
};

struct fake_object {
    char *path;                 /* "/bucket/key", decoded */
    uint8_t *data;
    size_t size;
    char etag[48];              /* with quotes */
    struct fake_sums sums;
    char *meta;                 /* the lines "x-amz-meta-...: value\n" of its request */
    struct fake_object *next;   /* in byte order of paths */
};

struct fake_part {
    uint8_t *data;
    size_t size;
    char etag[33];              /* without quotes */
    struct fake_sums sums;
};

struct fake_upload {
    char *path;
    char id[32];
    char *meta;
    const struct s3_checksum *kind;     /* of the checksums that it was begun with, or NULL */
    struct fake_part parts[FAKE_PARTS_MOST];
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

/* Random faults. See common_fake_faults.c for their names. */
struct fake_chance {
    struct rng rng;
    double percent;                     /* of all requests fail */
    double factors[FAKE_FAULTS_MOST];   /* for the weights of the faults */
    unsigned counts[FAKE_FAULTS_MOST];  /* number of times that each fault was chosen */
    unsigned storm;                     /* number of further requests that are refused */
    bool lies;                          /* responses may have wrong checksums */
    regex_t checked;            /* keys of objects whose bytes a reader can check */
    bool is_inverted;           /* `checked` has the keys of all other objects */
};

struct fake_s3 {
    struct fake_server *server;
    struct fake_object *objects;
    struct fake_upload *uploads;
    unsigned upload_number;
    struct fake_key keys[FAKE_KEYS_MOST];
    unsigned key_count;

    /* The behaviour of the service. A test sets these fields by fake_s3_set(). */
    bool anonymous;             /* requests need no signature */
    bool any_key;               /* of signatures, only the hash of the body is checked */
    uint64_t dialects;          /* a bit for each dialect of common_fake_dialects.c in use */
    struct fake_chance chance;
    bool no_conditional_put;    /* a condition If-None-Match gets the status 501 */
    bool no_checksums;          /* ignores checksums: neither compares nor returns them */
    enum fake_etags etags;
    /* lists uploads only for a prefix that is a whole key, like MinIO */
    bool uploads_by_key;
    char *every;                /* header lines that all requests need */
    char *new;                  /* header lines that requests need which create objects */
    bool lock;                  /* bytes need a checksum or a Content-MD5, as with Object Lock */
    bool needs_md5;             /* bytes need a Content-MD5 */
    bool sums_of_parts;         /* large objects have checksums of their parts' checksums */
    bool kms;                   /* ETags look like MD5s but are not MD5s */
    unsigned tag_number;        /* number of ETags with `kms` */
    bool records;               /* keeps `requests`, until they have 16 MiB */
    struct buf requests;        /* see fake_s3_record */
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
/* Adds an object, and takes ownership of the data. The server's lock must be held, also for the
 * next two functions. fake_s3_remove_locked returns whether there was an object. */
struct fake_object *fake_s3_add_locked(struct fake_s3 *s3, const char *path, uint8_t *data,
                                       size_t size);
bool fake_s3_remove_locked(struct fake_s3 *s3, const char *path);
void fake_s3_clear_uploads_locked(struct fake_s3 *s3);
unsigned fake_s3_uploads(const struct fake_s3 *s3);

/* Makes `percent` of all further requests fail in a way that a retry can repair. */
void fake_s3_storm(struct fake_s3 *s3, unsigned percent, uint64_t seed);
/* Finds the fault `name`. `name` may also be a status, such as "503". Returns false if
 * `name` is unknown. */
bool fake_s3_fault(struct fake_s3 *s3, const char *name, struct fake_fault *fault);

/* ---- Shared by its files ---- */

/* Returns the decoded value of a query parameter, or NULL if the query does not have it. The caller
 * frees the value. */
char *fake_s3_parameter(const struct fake_request *request, const char *name);
void fake_s3_list_objects(struct fake_s3 *s3, const struct fake_request *request,
                          const char *bucket, const struct fake_fault *fault,
                          struct fake_answer *answer);
void fake_s3_list_for_ever(struct fake_s3 *s3, const struct fake_request *request,
                           struct fake_answer *answer);
void fake_s3_list_uploads(struct fake_s3 *s3, const struct fake_request *request,
                          const char *bucket, struct fake_answer *answer);

/* Returns the key of a decoded path, or "" if the request is for the bucket. */
const char *fake_s3_key(const char *path);
/* Returns the name of the operation, as in "PutObject". */
const char *fake_s3_operation(const struct fake_request *request, const char *key);

/* Chooses a fault for a request at random, as the fields of s3->chance say. A fake_choose_fn. */
bool fake_s3_choose(void *s3, const struct fake_request *request, struct fake_fault *fault);
void fake_chance_init(struct fake_chance *chance);
void fake_chance_seed(struct fake_chance *chance, uint64_t seed);
/* Sets the factor by which the weights of the faults `name` are multiplied. Returns false if `name`
 * is unknown. */
bool fake_chance_factor(struct fake_chance *chance, const char *name, double factor);
/* Returns the name of the fault with this index, or NULL after the last one. */
const char *fake_chance_name(unsigned index);

/* A response, and the request that a dialect may look at. */
struct fake_speech {
    const struct fake_request *request;
    const char *what, *key;             /* as from fake_s3_operation */
    const struct fake_object *found;    /* the object with this key, or NULL */
    bool has_uploads;                   /* the service has unfinished uploads */
    struct fake_answer *answer;
};

/* Changes the response as the dialects in use do. */
void fake_s3_speak(const struct fake_s3 *s3, const struct fake_speech *speech);
/* Returns whether a dialect is in use. */
bool fake_s3_speaks(const struct fake_s3 *s3, const char *dialect);
/* Returns the name of the dialect with this index, or NULL after the last one. */
const char *fake_dialect_name(unsigned index);

/* Checks what the bucket requires of a request. If the bucket refuses the request, sets the
 * response and returns false. `what` is the operation. */
bool fake_s3_allows(const struct fake_s3 *s3, const struct fake_request *request, const char *what,
                    struct fake_answer *answer);
/* Appends the request to s3->requests: a line "OPERATION PATH REFUSED" with the path as it was
 * sent, the lines of the headers, and an empty line. If they become too many, clears s3->records,
 * so that a test does not read an incomplete list. */
void fake_s3_record(struct fake_s3 *s3, const struct fake_request *request, const char *what,
                    bool refused);

/* The kinds of checksums, and the checksum of bytes, which is computed directly from them. */
extern const struct s3_checksum *const fake_sum_kinds[FAKE_SUMS];
void fake_sum(unsigned kind, const void *data, size_t size, char text[24]);
/* Computes the checksum of the checksums of parts. */
void fake_sum_of_parts(unsigned kind, const struct fake_part *const *parts, unsigned count,
                       char text[24]);
/* Reads the checksums in the headers of a request. */
void fake_sums_sent(const struct fake_request *request, struct fake_sums *sums);

/* Sets the response to an error of tests/s3/rules.def. `more` is added to its elements. */
void fake_s3_error(struct fake_answer *answer, const char *code, const char *more);
/* Does the same with a message. */
void fake_s3_refuse(struct fake_answer *answer, const char *code, const char *message,
                    const char *more);
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
