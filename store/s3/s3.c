/* SPDX-License-Identifier: MIT
 *
 * The S3 context, its buckets, and requests to them. */
#include "store/s3/s3.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/notice.h"
#include "base/number.h"
#include "store/remote.h"
#include "store/remote_read.h"
#include "store/s3/aws_partition.h"
#include "store/s3/credentials_sources.h"
#include "store/s3/s3_google.h"
#include "store/s3/s3_signing.h"

/* Size in bytes of two kinds of buffers: for the percent-encoded key of an object, and for a
 * message that contains the name of an object. */
#define NAME_MOST 3200

struct s3_context {
    struct http_engine *engine;
    struct request_patience patience;
    struct s3_config config;
    struct s3_scopes *scopes;
    struct credentials_cache *credentials;      /* NULL: anonymous */
    struct s3_google google;
    pthread_mutex_t lock;
    struct {
        struct s3_bucket *buckets;
    } locked;
};

/* ---- Sessions of directory buckets ----------------------------------------------------------- */

struct session_source {
    struct credentials_source base;
    struct target target;           /* the bucket, with the context's credentials */
    char *name;
    bool may_write;
};

static int session_fetch(struct credentials_source *base, struct credentials **set,
                         struct sheaf_error *err)
{
    struct session_source *source = (struct session_source *)base;
    struct request r;
    char *what = NULL;
    int code;

    if (asprintf(&what, "creating a session of bucket %s", source->name) < 0)
        what = NULL;
    code = request_init(&r, &source->target, HTTP_GET, strdup("/"), strdup("session="), what, err);
    r.classify = aws_classify;
    r.check = credentials_check_xml;
    if (code == SHEAF_OK && r.query == NULL)
        code = err_memory(err, strlen("session="));
    if (code == SHEAF_OK && !source->may_write)
        code = request_set_header(&r, "x-amz-create-session-mode", "ReadOnly", err);
    if (code == SHEAF_OK)
        code = request_run(&r, err);
    if (code == SHEAF_OK)
        code = credentials_from_xml(&r, true, set, err);
    if (r.http.reply.data != NULL)
        explicit_bzero(r.http.reply.data, r.http.reply.size);
    request_free(&r);
    return code;
}

static void session_free(struct credentials_source *base)
{
    struct session_source *source = (struct session_source *)base;

    target_free(&source->target);
    free(source->name);
    free(source);
}

static bool copy_target(struct target *copy, const struct target *target)
{
    *copy = *target;
    copy->origin = strdup(target->origin);
    copy->host = strdup(target->host);
    copy->prefix = strdup(target->prefix);
    return copy->origin != NULL && copy->host != NULL && copy->prefix != NULL;
}

/* Sets up a target (a server), so that its requests are signed with the keys of a session.
 * Directory buckets need such a session. `may_write` says whether the session may write. */
static int use_session(struct target *t, const char *name, bool may_write, struct sheaf_error *err)
{
    struct session_source *source = calloc(1, sizeof(*source));
    bool has_memory;

    if (source == NULL)
        return err_memory(err, sizeof(*source));
    has_memory = copy_target(&source->target, t);
    source->name = strdup(name);
    source->may_write = may_write;
    source->base.fetch = session_fetch;
    source->base.free = session_free;
    t->credentials = NULL;
    t->token_header = "x-amz-s3session-token";
    if (!has_memory || source->name == NULL) {
        session_free(&source->base);
        return err_memory(err, sizeof(*source));
    }
    return credentials_cache_open(&t->credentials, &source->base, err);
}

static int use_sessions(struct s3_bucket *b, struct sheaf_error *err)
{
    struct credentials_cache *all = b->target.credentials;
    int code = copy_target(&b->writing, &b->target) ? SHEAF_OK : err_memory(err, 64);

    b->is_express = true;
    b->target.credentials = b->writing.credentials = NULL;
    if (code == SHEAF_OK) {
        b->target.credentials = all;
        code = use_session(&b->target, b->name, false, err);
    }
    if (code == SHEAF_OK) {
        b->writing.credentials = all;
        code = use_session(&b->writing, b->name, true, err);
    }
    return code;
}

/* ---- Buckets --------------------------------------------------------------------------------- */

static int use_place(struct target *t, struct s3_place *place, char **region,
                     struct sheaf_error *err)
{
    t->service = place->service;
    t->region = *region = place->region;
    t->prefix = place->prefix;
    place->region = place->prefix = NULL;
    return target_set_url(t, &place->url, err);
}

/* target.move */
static bool move_bucket(void *mover, const char *region)
{
    struct s3_bucket *b = mover;
    struct s3_place place;
    char *where;
    int code;

    if (!aws_region_is_name(region) ||
        aws_partition_of(region) != aws_partition_of(b->target.region) ||
        s3_place_find(b->config, b->name, region, &place, NULL) != SHEAF_OK)
        return false;
    b->there = b->target;
    b->there.origin = b->there.host = NULL;
    code = use_place(&b->there, &place, &b->regions[1], NULL);
    s3_place_free(&place);
    if (code != SHEAF_OK)
        return false;
    __atomic_store_n(&b->target.moved, &b->there, __ATOMIC_RELEASE);
    if (asprintf(&where, "s3://%s", b->name) < 0)
        return true;
    notice_say(where, "the bucket is in region %s, not %s: continuing there: set AWS_REGION=%s",
               region, b->target.region, region);
    free(where);
    return true;
}

static void bucket_free(struct s3_bucket *b)
{
    if (b->is_express) {
        credentials_cache_close(b->target.credentials);
        credentials_cache_close(b->writing.credentials);
    }
    target_free(&b->target);
    target_free(&b->writing);
    target_free(&b->there);
    free(b->regions[0]);
    free(b->regions[1]);
    pthread_mutex_destroy(&b->known->lock);
    free(b->name);
    free(b);
}

static int use_google(struct s3_context *s3, struct s3_bucket *b, struct s3_place *place,
                      struct sheaf_error *err)
{
    b->checksums = false;
    b->target.credentials = s3->google.credentials;
    return s3_google_place(&s3->google, b->name, place, err);
}

static int bucket_open(struct s3_context *s3, bool is_google, const char *name,
                       struct s3_bucket **bucket, struct sheaf_error *err)
{
    struct s3_bucket *b = calloc(1, sizeof(*b));
    struct s3_place place = { .service = "s3" };
    int code;

    if (b == NULL || (b->name = strdup(name)) == NULL) {
        free(b);
        return err_memory(err, sizeof(*b));
    }
    b->is_google = is_google;
    b->scheme = is_google ? S3_GOOGLE_SCHEME : "s3";
    b->checksums = s3->config.checksums;
    b->config = &s3->config;
    b->scopes = s3->scopes;
    b->repeats = &b->repeats_now;
    b->known = &b->known_now;
    pthread_mutex_init(&b->known->lock, NULL);
    b->target = (struct target){
        .engine = s3->engine, .patience = &s3->patience, .ca_file = s3->config.ca_file,
        .signing = &s3_signing, .credentials = s3->credentials, .mover = b,
        .token_header = "x-amz-security-token",
    };
    code = is_google ? use_google(s3, b, &place, err)
                     : s3_place_find(&s3->config, name, NULL, &place, err);
    if (code == SHEAF_OK)
        code = use_place(&b->target, &place, &b->regions[0], err);
    if (place.may_move)
        b->target.move = move_bucket;
    if (code == SHEAF_OK && place.is_express && s3->credentials != NULL && !s3->config.no_sessions)
        code = use_sessions(b, err);
    s3_place_free(&place);
    if (code == SHEAF_OK)
        *bucket = b;
    else
        bucket_free(b);
    return code;
}

static int find_bucket(struct s3_context *s3, bool is_google, const char *name,
                       const struct s3_bucket **bucket, struct sheaf_error *err)
{
    struct s3_bucket *b;
    int code = SHEAF_OK;

    pthread_mutex_lock(&s3->lock);
    for (b = s3->locked.buckets;
         b != NULL && (strcmp(b->name, name) != 0 || b->is_google != is_google); b = b->next)
        ;
    if (b == NULL) {
        code = bucket_open(s3, is_google, name, &b, err);
        if (code == SHEAF_OK) {
            b->next = s3->locked.buckets;
            s3->locked.buckets = b;
        }
    }
    pthread_mutex_unlock(&s3->lock);
    *bucket = b;
    return code;
}

/* ---- The context ----------------------------------------------------------------------------- */

static void s3_context_close(void *state)
{
    struct s3_context *s3 = state;
    struct s3_bucket *b;

    while ((b = s3->locked.buckets) != NULL) {
        s3->locked.buckets = b->next;
        bucket_free(b);
    }
    credentials_cache_close(s3->credentials);
    s3_google_close(&s3->google);
    s3_config_free(&s3->config);
    s3_scopes_close(s3->scopes);
    pthread_mutex_destroy(&s3->lock);
    free(s3);
}

static int s3_context_open(void **state, struct http_engine *engine,
                           const struct request_patience *patience, const char *container_origin,
                           struct sheaf_error *err)
{
    struct s3_context *s3 = calloc(1, sizeof(*s3));
    int code;

    if (s3 == NULL)
        return err_memory(err, sizeof(*s3));
    s3->engine = engine;
    s3->patience = *patience;
    pthread_mutex_init(&s3->lock, NULL);
    code = s3_config_load(&s3->config, err);
    if (code == SHEAF_OK)
        code = s3_google_open(&s3->google, err);
    if (code == SHEAF_OK)
        code = s3_scopes_open(&s3->scopes, err);
    if (code == SHEAF_OK && s3->config.attempts != 0)
        s3->patience.retry.attempts = s3->config.attempts;
    if (code == SHEAF_OK && !s3->config.anonymous) {
        const struct credentials_context context = {
            .engine = engine, .patience = &s3->patience, .config = &s3->config,
            .container_origin = container_origin,
        };

        code = credentials_open(&s3->credentials, &context, err);
    }
    if (code == SHEAF_OK)
        *state = s3;
    else
        s3_context_close(s3);
    return code;
}

static const struct remote_service service = { s3_context_open, s3_context_close };

/* ---- Finding a bucket ------------------------------------------------------------------------ */

int s3_locate(const char *url, const struct s3_bucket **bucket, char **key,
              struct sheaf_error *err)
{
    const bool is_google = strncmp(url, S3_GOOGLE_SCHEME "://", sizeof(S3_GOOGLE_SCHEME) + 2) == 0;
    void *s3;
    char *name = NULL;
    int code = url_parse_s3(url, &name, key, err);

    if (code != SHEAF_OK)
        return code;
    code = remote_service(&service, &s3, err);
    if (code == SHEAF_OK)
        code = find_bucket(s3, is_google, name, bucket, err);
    free(name);
    if (code != SHEAF_OK) {
        free(*key);
        *key = NULL;
    }
    return code;
}

/* ---- Requests -------------------------------------------------------------------------------- */

static char *key_path(const char *key)
{
    struct buf path = BUF_INIT(NAME_MOST);

    if (buf_append(&path, "/", 1, NULL) == SHEAF_OK &&
        url_encode(&path, key, true, NULL) == SHEAF_OK &&
        buf_append(&path, "", 1, NULL) == SHEAF_OK)
        return (char *)path.data;
    buf_free(&path);
    return NULL;
}

const struct s3_settings *s3_settings_for(const struct s3_bucket *b, const char *key)
{
    static const struct s3_settings none;

    return b->is_google ? &none : s3_scope_settings(b->scopes, b->name, key);
}

/* Returns the kind of checksum that is sent with an object, or NULL if no checksum is sent.
 * Amazon's own service checks and stores CRC-64/NVME, except in directory buckets. Many other
 * services know only CRC-32C. */
const struct s3_checksum *s3_checksum_for(const struct s3_bucket *b, const char *key)
{
    const char *chosen = s3_settings_for(b, key)->values[S3_CHECKSUM];

    if (chosen != NULL)
        return s3_checksum_of(chosen);
    if (!b->checksums)
        return NULL;
    return s3_config_is_amazon(b->config) && !b->is_express ? &s3_crc64nvme : &s3_crc32c;
}

/* Returns the key of a request, or the prefix if the request is for a listing. The settings of the
 * request depend on this key or prefix. */
static const char *subject(const char *key, const struct sigv4_pair *query, size_t query_count)
{
    for (size_t i = 0; i < query_count && *key == '\0'; i++)
        if (strcmp(query[i].name, "prefix") == 0)
            key = query[i].value;
    return key;
}

int s3_request_init(struct request *r, const struct s3_bucket *b, enum http_method method,
                    const char *key, struct sigv4_pair *query, size_t query_count,
                    const char *doing, struct sheaf_error *err)
{
    const bool reads = method == HTTP_GET || method == HTTP_HEAD;
    const struct target *target = b->is_express && !reads ? &b->writing : &b->target;
    struct buf text = BUF_INIT((size_t)64 << 10);
    char *what = NULL;
    int code = SHEAF_OK, made;

    if (query_count != 0)
        code = sigv4_query(query, query_count, &text, err);
    if (code == SHEAF_OK && query_count != 0)
        code = buf_append(&text, "", 1, err);
    if (asprintf(&what, "%s %s://%s/%s", doing, b->scheme, b->name, key) < 0)
        what = NULL;
    made = request_init(r, target, method, key_path(key), (char *)text.data, what, err);
    r->classify = aws_classify;
    if (code == SHEAF_OK && made == SHEAF_OK)
        code = s3_settings_apply(s3_settings_for(b, subject(key, query, query_count)), r,
                                 b->is_express, err);
    return code == SHEAF_OK ? made : code;
}

/* A HEAD request and its result. The result is stored here by the function `classify` of the
 * request, because the headers of the response can be read only there. */
struct head_request {
    struct request base;
    enum http_method asked;         /* method of the first attempt */
    struct s3_head *head;
    const struct s3_checksum *checksum;
};

static int s3_keep_text(char **field, const char *text, struct sheaf_error *err)
{
    free(*field);
    *field = text != NULL ? strdup(text) : NULL;
    return text != NULL && *field == NULL ? err_memory(err, strlen(text)) : SHEAF_OK;
}

bool s3_etag_may_be_md5(const struct request *r)
{
    const char *how = http_answer_header(&r->http, "x-amz-server-side-encryption");

    return (how == NULL || strcmp(how, "AES256") == 0) &&
           http_answer_header(&r->http,
                              "x-amz-server-side-encryption-customer-algorithm") == NULL;
}

static bool parse_length(const struct http_exchange *http, uint64_t *bytes)
{
    const char *length = http_answer_header(http, "content-length");

    return http->failure == HTTP_ANSWERED && http->status / 100 == 2 && length != NULL &&
           number_parse(length, INT64_MAX, bytes);
}

static int head_classify(struct request *r, bool *again, struct sheaf_error *err)
{
    const struct s3_checksum *checksum = ((struct head_request *)r)->checksum;
    struct s3_head *head = ((struct head_request *)r)->head;
    const bool by_head = ((struct head_request *)r)->asked == HTTP_HEAD;
    const bool has_size = by_head ? parse_length(&r->http, &head->bytes)
                                  : remote_find_size(r, &head->bytes);
    int code = has_size ? SHEAF_OK : aws_classify(r, again, err);

    if (code != SHEAF_OK)
        return code;
    if (!has_size) {
        *again = !by_head;          /* damage on the way */
        return err_set(err, SHEAF_ERR_CORRUPT, "%s: the response has no size", r->what);
    }
    head->etag_may_be_md5 = s3_etag_may_be_md5(r);
    code = s3_keep_text(&head->etag, http_answer_header(&r->http, "etag"), err);
    if (code == SHEAF_OK && checksum != NULL)
        code = s3_keep_text(&head->crc, http_answer_header(&r->http, checksum->header), err);
    if (code == SHEAF_OK)
        code = s3_keep_text(&head->mark, http_answer_header(&r->http, S3_MARK), err);
    return code;
}

void s3_head_free(struct s3_head *head)
{
    free(head->etag);
    free(head->crc);
    free(head->mark);
    memset(head, 0, sizeof(*head));
}

/* Requests facts about an object (size, ETag, checksum) with the request `method`: HEAD, or a GET
 * of the object's first byte. *status becomes the status of the response, or 0 if there was no
 * response. */
static int head_by(enum http_method method, const struct s3_bucket *b, const char *key,
                   struct s3_head *head, int *status, struct sheaf_error *err)
{
    struct head_request h = { .asked = method, .head = head, .checksum = s3_checksum_for(b, key) };
    char byte;
    int code;

    memset(head, 0, sizeof(*head));
    code = s3_request_init(&h.base, b, method, key, NULL, 0, "opening", err);
    h.base.classify = head_classify;
    h.base.http.into = &byte;
    h.base.http.into_size = 1;
    if (code == SHEAF_OK && h.checksum != NULL)
        code = request_set_header(&h.base, "x-amz-checksum-mode", "ENABLED", err);
    if (code == SHEAF_OK && method == HTTP_GET)
        code = request_set_header(&h.base, "range", "bytes=0-0", err);
    if (code == SHEAF_OK)
        code = request_run(&h.base, err);
    *status = h.base.http.failure == HTTP_ANSWERED ? h.base.http.status : 0;
    request_free(&h.base);
    if (code != SHEAF_OK)
        s3_head_free(head);
    return code;
}

/* Requests facts about an object (size, ETag, checksum) by HEAD. If the server refuses the HEAD,
 * sends a GET of the first byte, because only the response to a GET has a text with the reason.
 *
 * The response to the GET may also have the facts. This happens if the server refuses only the
 * method HEAD (405, 501), or if its response to the HEAD has no size. If a proxy demands a password
 * (407), no GET is sent, because the proxy would refuse it as well. */
static int head_once(const struct s3_bucket *b, const char *key, struct s3_head *head,
                     struct sheaf_error *err)
{
    struct sheaf_error better;
    int status, code = head_by(HTTP_HEAD, b, key, head, &status, err), got;

    if (code == SHEAF_OK || status == 407 ||
        ((status < 300 || status >= 500) && status != 501 && code != SHEAF_ERR_CORRUPT))
        return code;
    got = head_by(HTTP_GET, b, key, head, &status, &better);
    if (got != SHEAF_OK && status == 0)
        return code;
    if (got != SHEAF_OK && err != NULL)
        *err = better;
    return got;
}

int s3_head(const struct s3_bucket *b, const char *key, struct s3_head *head,
            struct sheaf_error *err)
{
    const struct target *before = target_now(&b->target);
    const int code = head_once(b, key, head, err);

    /* Try again if the bucket was found in another region. Some services name the region only in
     * the text of the response to the GET, which is sent after the HEAD has failed. */
    return code != SHEAF_OK && target_now(&b->target) != before ? head_once(b, key, head, err)
                                                                : code;
}
