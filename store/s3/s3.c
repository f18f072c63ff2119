/* SPDX-License-Identifier: MIT
 *
 * The S3 context, its buckets, and requests to them. */
#include "store/s3/s3.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "store/remote.h"
#include "store/s3/credentials_sources.h"
#include "store/s3/s3_config.h"

#define NAME_MOST 3200          /* bytes of an encoded key, and of a message with a name */

struct s3_context {
    struct http_engine *engine;
    const struct request_patience *patience;
    struct s3_config config;
    struct credentials_cache *credentials;      /* NULL: anonymous */
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
    if (code == SHEAF_OK && r.query == NULL)
        code = err_memory(err, strlen("session="));
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

/* Makes the bucket's own credentials those of a session. */
static int use_session(struct s3_bucket *b, struct sheaf_error *err)
{
    struct session_source *source = calloc(1, sizeof(*source));
    struct target *t;

    if (source == NULL)
        return err_memory(err, sizeof(*source));
    t = &source->target;
    *t = b->target;
    t->origin = strdup(b->target.origin);
    t->host = strdup(b->target.host);
    t->prefix = strdup(b->target.prefix);
    source->name = strdup(b->name);
    source->base.fetch = session_fetch;
    source->base.free = session_free;
    b->target.credentials = NULL;
    b->target.token_header = "x-amz-s3session-token";
    if (t->origin == NULL || t->host == NULL || t->prefix == NULL || source->name == NULL) {
        session_free(&source->base);
        return err_memory(err, sizeof(*source));
    }
    return credentials_cache_open(&b->target.credentials, &source->base, err);
}

/* ---- Buckets --------------------------------------------------------------------------------- */

/* "data--usw2-az1--x-s3" -> "usw2-az1"; NULL for a name of another form. */
static const char *express_zone(const char *name, int *size)
{
    const char *end = name + strlen(name) - 6;
    const char *zone = end;

    if (end <= name || strcmp(end, "--x-s3") != 0)
        return NULL;
    while (zone > name + 2 && strncmp(zone - 2, "--", 2) != 0)
        zone--;
    if (zone <= name + 2 || zone == end)
        return NULL;
    *size = (int)(end - zone);
    return zone;
}

/* Where the bucket is, without its name: Amazon's own service or the configured endpoint. */
static int service_url(const struct s3_config *c, const char *zone, int zone_size,
                       struct url *url, struct sheaf_error *err)
{
    char text[300];

    if (zone != NULL)
        snprintf(text, sizeof(text), "https://s3express-%.*s.%s.%s", zone_size, zone, c->region,
                 s3_config_domain(c->region));
    else
        snprintf(text, sizeof(text), "https://s3.%s.%s", c->region, s3_config_domain(c->region));
    return url_parse(text, url, err);
}

/* Amazon wants the bucket's name in the host; a name with a dot does not fit its certificate,
 * and most compatible stores have no such hosts. */
static bool is_path_style(const struct s3_config *c, const char *name)
{
    if (c->style != S3_STYLE_AUTO)
        return c->style == S3_STYLE_PATH;
    return c->endpoint.host != NULL || strchr(name, '.') != NULL;
}

static int set_place(struct s3_bucket *b, const struct s3_config *c, const struct url *service,
                     struct sheaf_error *err)
{
    struct url url = *service;
    char *host = NULL;
    int code;

    if (is_path_style(c, b->name)) {
        if (asprintf(&b->target.prefix, "/%s", b->name) < 0)
            b->target.prefix = NULL;
    } else {
        if (asprintf(&host, "%s.%s", b->name, service->host) < 0)
            return err_memory(err, 64);
        url.host = host;
        b->target.prefix = strdup("");
    }
    code = b->target.prefix == NULL ? err_memory(err, 64) : target_set_url(&b->target, &url, err);
    free(host);
    return code;
}

static void bucket_free(struct s3_bucket *b)
{
    if (b->is_express)
        credentials_cache_close(b->target.credentials);
    target_free(&b->target);
    free(b->name);
    free(b);
}

static int bucket_open(struct s3_context *s3, const char *name, struct s3_bucket **bucket,
                       struct sheaf_error *err)
{
    struct s3_bucket *b = calloc(1, sizeof(*b));
    struct url own = { 0 };
    int zone_size = 0, code = SHEAF_OK;
    const char *zone = express_zone(name, &zone_size);

    if (b == NULL || (b->name = strdup(name)) == NULL) {
        free(b);
        return err_memory(err, sizeof(*b));
    }
    b->checksums = s3->config.checksums;
    b->target = (struct target){
        .engine = s3->engine, .patience = s3->patience, .ca_file = s3->config.ca_file,
        .credentials = s3->credentials, .region = s3->config.region,
        .service = zone != NULL ? "s3express" : "s3", .token_header = "x-amz-security-token",
    };
    if (s3->config.endpoint.host == NULL)
        code = service_url(&s3->config, zone, zone_size, &own, err);
    if (code == SHEAF_OK)
        code = set_place(b, &s3->config, own.host != NULL ? &own : &s3->config.endpoint, err);
    if (code == SHEAF_OK && zone != NULL && s3->credentials != NULL) {
        b->is_express = true;
        code = use_session(b, err);
    }
    url_free(&own);
    if (code == SHEAF_OK)
        *bucket = b;
    else
        bucket_free(b);
    return code;
}

static int find_bucket(struct s3_context *s3, const char *name, const struct s3_bucket **bucket,
                       struct sheaf_error *err)
{
    struct s3_bucket *b;
    int code = SHEAF_OK;

    pthread_mutex_lock(&s3->lock);
    for (b = s3->locked.buckets; b != NULL && strcmp(b->name, name) != 0; b = b->next)
        ;
    if (b == NULL) {
        code = bucket_open(s3, name, &b, err);
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

static void context_close(void *state)
{
    struct s3_context *s3 = state;
    struct s3_bucket *b;

    while ((b = s3->locked.buckets) != NULL) {
        s3->locked.buckets = b->next;
        bucket_free(b);
    }
    credentials_cache_close(s3->credentials);
    s3_config_free(&s3->config);
    pthread_mutex_destroy(&s3->lock);
    free(s3);
}

static int context_open(void **state, struct http_engine *engine,
                        const struct request_patience *patience, const char *container_origin,
                        struct sheaf_error *err)
{
    struct s3_context *s3 = calloc(1, sizeof(*s3));
    int code;

    if (s3 == NULL)
        return err_memory(err, sizeof(*s3));
    s3->engine = engine;
    s3->patience = patience;
    pthread_mutex_init(&s3->lock, NULL);
    code = s3_config_load(&s3->config, err);
    if (code == SHEAF_OK && !s3->config.anonymous) {
        const struct credentials_context context = {
            .engine = engine, .patience = patience, .config = &s3->config,
            .container_origin = container_origin,
        };

        code = credentials_open(&s3->credentials, &context, err);
    }
    if (code == SHEAF_OK)
        *state = s3;
    else
        context_close(s3);
    return code;
}

static const struct remote_service service = { context_open, context_close };

/* ---- Finding a bucket ------------------------------------------------------------------------ */

int s3_locate(const char *url, const struct s3_bucket **bucket, char **key,
              struct sheaf_error *err)
{
    void *s3;
    char *name = NULL;
    int code = url_parse_s3(url, &name, key, err);

    if (code != SHEAF_OK)
        return code;
    code = remote_service(&service, &s3, err);
    if (code == SHEAF_OK)
        code = find_bucket(s3, name, bucket, err);
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

int s3_request_init(struct request *r, const struct s3_bucket *b, enum http_method method,
                    const char *key, struct sigv4_pair *query, size_t query_count,
                    const char *doing, struct sheaf_error *err)
{
    struct buf text = BUF_INIT((size_t)64 << 10);
    char *what = NULL;
    int code = SHEAF_OK, made;

    if (query_count != 0)
        code = sigv4_query(query, query_count, &text, err);
    if (code == SHEAF_OK && query_count != 0)
        code = buf_append(&text, "", 1, err);
    if (asprintf(&what, "%s s3://%s/%s", doing, b->name, key) < 0)
        what = NULL;
    made = request_init(r, &b->target, method, key_path(key), (char *)text.data, what, err);
    r->classify = aws_classify;
    return code == SHEAF_OK ? made : code;
}

/* HEAD has no text to say why it was refused; GET of the first byte has. */
static int why_refused(const struct s3_bucket *b, const char *key, int code,
                       struct sheaf_error *err)
{
    struct request r;
    struct sheaf_error better;
    char byte;
    int made = s3_request_init(&r, b, HTTP_GET, key, NULL, 0, "opening", &better);

    r.http.into = &byte;
    r.http.into_size = 1;
    if (made == SHEAF_OK)
        made = request_set_header(&r, "range", "bytes=0-0", &better);
    if (made == SHEAF_OK && request_run(&r, &better) != SHEAF_OK && r.http.status != 0 &&
        r.http.status != 416) {
        code = better.code;
        if (err != NULL)
            *err = better;
    }
    request_free(&r);
    return code;
}

/* The headers are there only during the request's classify. */
struct head_request {
    struct request base;
    struct s3_head *head;
};

static int keep_text(char **field, const char *text, struct sheaf_error *err)
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

static int head_classify(struct request *r, bool *again, struct sheaf_error *err)
{
    struct s3_head *head = ((struct head_request *)r)->head;
    const char *length = http_answer_header(&r->http, "content-length");
    int code = aws_classify(r, again, err);

    if (code != SHEAF_OK)
        return code;
    if (length == NULL || !number_parse(length, INT64_MAX, &head->bytes))
        return err_set(err, SHEAF_ERR_CORRUPT, "%s: the response has no size", r->what);
    head->etag_may_be_md5 = s3_etag_may_be_md5(r);
    code = keep_text(&head->etag, http_answer_header(&r->http, "etag"), err);
    if (code == SHEAF_OK)
        code = keep_text(&head->crc32c, http_answer_header(&r->http, "x-amz-checksum-crc32c"), err);
    if (code == SHEAF_OK)
        code = keep_text(&head->mark, http_answer_header(&r->http, S3_MARK), err);
    return code;
}

void s3_head_free(struct s3_head *head)
{
    free(head->etag);
    free(head->crc32c);
    free(head->mark);
    memset(head, 0, sizeof(*head));
}

int s3_head(const struct s3_bucket *b, const char *key, struct s3_head *head,
            struct sheaf_error *err)
{
    struct head_request h = { .head = head };
    int code, status;

    memset(head, 0, sizeof(*head));
    code = s3_request_init(&h.base, b, HTTP_HEAD, key, NULL, 0, "opening", err);
    h.base.classify = head_classify;
    if (code == SHEAF_OK && b->checksums)
        code = request_set_header(&h.base, "x-amz-checksum-mode", "ENABLED", err);
    if (code == SHEAF_OK)
        code = request_run(&h.base, err);
    status = h.base.http.failure == HTTP_ANSWERED ? h.base.http.status : 0;
    request_free(&h.base);
    if (code == SHEAF_OK)
        return code;
    s3_head_free(head);
    return status >= 300 && status < 500 ? why_refused(b, key, code, err) : code;
}
