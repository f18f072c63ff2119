/* SPDX-License-Identifier: MIT
 *
 * The objects and uploads of the fake service. */
#include "tests/common_fake_s3.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "store/remote.h"
#include "store/s3/s3.h"
#include "store/s3/s3_checksum.h"
#include "store/url.h"

/* The rules, from tests/s3/rules.def. */
struct fake_error {
    const char *code;
    int status;
};

struct fake_condition {
    const char *method, *header, *object, *code;
};

#define S3_LEAST_PART(bytes)
#define S3_CONDITION(...)
#define S3_ERROR(...) { __VA_ARGS__ },
static const struct fake_error errors[] = {
#include "tests/s3/rules.def"
};
#undef S3_ERROR
#undef S3_CONDITION
#define S3_ERROR(...)
#define S3_CONDITION(...) { __VA_ARGS__ },
static const struct fake_condition conditions[] = {
#include "tests/s3/rules.def"
};
#undef S3_CONDITION
#undef S3_LEAST_PART
#define S3_CONDITION(...)
#define S3_LEAST_PART(bytes) bytes
static const size_t part_bytes_least =
#include "tests/s3/rules.def"
    ;

void fake_s3_error(struct fake_answer *a, const char *code, const char *more)
{
    size_t i = 0;

    while (strcmp(errors[i].code, code) != 0)
        if (++i == COUNT_OF(errors))
            abort();        /* tests/s3/rules.def has no such error */
    a->status = errors[i].status;
    a->body.size = 0;
    fake_answer_body(a, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code>"
                     "<Message>fake</Message>%s</Error>", code, more);
}

/* ---- Objects --------------------------------------------------------------------------------- */

static void md5_text(const void *data, size_t size, char text[33])
{
    unsigned char digest[16];

    EVP_Digest(data, size, digest, NULL, EVP_md5(), NULL);
    for (size_t i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

struct fake_object *fake_s3_object(const struct fake_s3 *s3, const char *path)
{
    struct fake_object *o = s3->objects;

    while (o != NULL && strcmp(o->path, path) != 0)
        o = o->next;
    return o;
}

static void object_remove(struct fake_s3 *s3, const char *path)
{
    struct fake_object **place = &s3->objects, *o;

    while (*place != NULL && strcmp((*place)->path, path) != 0)
        place = &(*place)->next;
    o = *place;
    if (o == NULL)
        return;
    *place = o->next;
    free(o->path);
    free(o->data);
    free(o);
}

/* Adds an object, and takes ownership of the data. */
static struct fake_object *object_add(struct fake_s3 *s3, const char *path, uint8_t *data,
                                      size_t size)
{
    struct fake_object *o = calloc(1, sizeof(*o)), **place = &s3->objects;
    char md5[33];

    object_remove(s3, path);
    o->path = strdup(path);
    o->data = data;
    o->size = size;
    md5_text(data, size, md5);
    if (s3->kms)
        md5[0] ^= 1;
    snprintf(o->etag, sizeof(o->etag), "\"%s\"", md5);
    while (*place != NULL && strcmp((*place)->path, path) < 0)
        place = &(*place)->next;
    o->next = *place;
    *place = o;
    return o;
}

static uint8_t *copy_of(const void *data, size_t size)
{
    uint8_t *copy = malloc(size + 1);

    memcpy(copy, data, size);
    return copy;
}

void fake_s3_put(struct fake_s3 *s3, const char *path, const void *data, size_t size)
{
    fake_server_lock(s3->server);      /* the service may be responding to a request */
    object_add(s3, path, copy_of(data, size), size);
    fake_server_unlock(s3->server);
}

/* ---- Parameters ------------------------------------------------------------------------------ */

/* Returns the decoded value of a query parameter, or NULL if the query does not have it. The caller
 * frees the value. */
char *fake_s3_parameter(const struct fake_request *r, const char *name)
{
    const size_t size = strlen(name);

    for (const char *at = r->query; *at != '\0'; at += strcspn(at, "&"), at += *at == '&') {
        if (strncmp(at, name, size) == 0 && at[size] == '=') {
            char *value = strndup(at + size + 1, strcspn(at + size + 1, "&"));

            if (url_decode(value, true))
                return value;
            free(value);
        }
    }
    return NULL;
}

static bool has_parameter(const struct fake_request *r, const char *name)
{
    char *value = fake_s3_parameter(r, name);

    free(value);
    return value != NULL;
}

/* Returns the code with which a condition of the request refuses it, or NULL. `o` is the request's
 * object, or NULL if it does not exist. */
static const char *refusal_of(const struct fake_request *r, const struct fake_object *o)
{
    const char *code = NULL;

    for (size_t i = 0; i < COUNT_OF(conditions) && code == NULL; i++) {
        const struct fake_condition *c = &conditions[i];
        char *etag = fake_header(r, c->header);
        const char *state = o == NULL ? "absent"
                          : etag != NULL && strcmp(etag, o->etag) == 0 ? "same" : "other";

        if (etag != NULL && strcmp(c->method, r->method) == 0 && strcmp(c->object, state) == 0)
            code = c->code;
        free(etag);
    }
    return code;
}

/* ---- GET and HEAD ---------------------------------------------------------------------------- */

/* Parses a range such as "bytes=1-2" of an object with `size` bytes. Returns 1 for a valid range, 0
 * if the whole object is requested, and -1 if the range lies outside of the object. */
static int parse_range(const struct fake_request *r, size_t size, size_t *first, size_t *last)
{
    char *text = fake_header(r, "range");
    const int found = text != NULL ? sscanf(text, "bytes=%zu-%zu", first, last) : 0;

    free(text);
    if (found != 2)
        return 0;
    if (*first >= size || *first > *last)
        return -1;
    *last = MIN(*last, size - 1);
    return 1;
}

/* Adds a Last-Modified that differs between contents. The server ignores conditions on the date, so
 * the client must compare it. */
static void add_date(const struct fake_object *o, struct fake_answer *a)
{
    fake_answer_header(a, "Last-Modified: Mon, %02u Jan 2024 00:00:00 GMT",
                       1 + (unsigned)(o->etag[1] + o->etag[2] * 5) % 28);
}

static void get_object(const struct fake_s3 *s3, const struct fake_object *o,
                       const struct fake_request *r, const struct fake_fault *fault,
                       struct fake_answer *a)
{
    const enum fake_kind kind = fault != NULL ? fault->kind : 0;
    size_t first = 0, last = o->size - 1;
    int range = kind == FAKE_WHOLE ? 0 : parse_range(r, o->size, &first, &last);
    const char *refusal = refusal_of(r, o);

    if (refusal != NULL) {
        fake_s3_error(a, refusal, "");
        return;
    }
    if (range < 0) {
        fake_s3_error(a, "InvalidRange", "");
        fake_answer_header(a, "Content-Range: bytes */%zu", o->size);
        return;
    }
    if (range == 0 || o->size == 0)
        first = 0, last = o->size - 1;
    if (kind == FAKE_SHORT)
        last -= MIN(MAX(fault->at, 1), last - first);
    if (kind == FAKE_LONG)
        last = MIN(last + fault->at, o->size - 1);
    a->status = range != 0 ? 206 : 200;
    if (range != 0)
        fake_answer_header(a, "Content-Range: bytes %zu-%zu/%zu",
                           first + (kind == FAKE_WRONG_RANGE), last, o->size);
    if (o->mark[0] != '\0')
        fake_answer_header(a, S3_MARK ": %s", o->mark);
    if (s3->etags != FAKE_STRONG_ETAGS && s3->etags != FAKE_NOTHING)
        add_date(o, a);
    if (s3->etags <= FAKE_WEAK_ETAGS)
        fake_answer_header(a, "ETag: %s%s%s", s3->etags == FAKE_WEAK_ETAGS ? "W/" : "",
                           kind == FAKE_WRONG_ETAG ? "\"another\""
                           : kind == FAKE_WRONG_PARTS ? "\"0123456789abcdef0123456789abcdef"
                           : o->etag, kind == FAKE_WRONG_PARTS ? o->etag + 33 : "");
    a->content_length = last + 1 - first;
    if (strcmp(r->method, "HEAD") != 0 && buf_append(&a->body, o->data + first, last + 1 - first,
                                                     NULL) != SHEAF_OK)
        abort();
}

/* Compares the received bytes with the checksums in the request's headers. Returns false and sets
 * the response if the bytes differ. */
static bool compare_checksum(const struct fake_s3 *s3, const struct fake_request *r,
                             const struct fake_fault *fault, struct fake_answer *a)
{
    static const struct s3_checksum *const kinds[] = { &s3_crc64nvme, &s3_crc32c };
    const bool damaged = fault != NULL && fault->kind == FAKE_WRONG_BYTES && r->body_size != 0;

    for (size_t i = 0; i < COUNT_OF(kinds) && !s3->no_checksums; i++) {
        char *sum = fake_header(r, kinds[i]->header);

        if (sum != NULL && damaged)
            fake_s3_error(a, "BadDigest", "");
        else if (sum != NULL)
            fake_answer_header(a, "%s: %s", kinds[i]->header, sum);
        free(sum);
    }
    return a->status == 200;
}

/* ---- Uploads --------------------------------------------------------------------------------- */

static struct fake_upload **find_upload(struct fake_s3 *s3, const char *path, const char *id)
{
    struct fake_upload **place = &s3->uploads;

    while (*place != NULL && (strcmp((*place)->id, id) != 0 || strcmp((*place)->path, path) != 0))
        place = &(*place)->next;
    return place;
}

static void upload_free(struct fake_upload **place)
{
    struct fake_upload *u = *place;

    *place = u->next;
    for (size_t i = 0; i < COUNT_OF(u->parts); i++)
        free(u->parts[i].data);
    free(u->path);
    free(u);
}

static void begin_upload(struct fake_s3 *s3, const char *path, const struct fake_request *r,
                         struct fake_answer *a)
{
    struct fake_upload *u = calloc(1, sizeof(*u));
    char *mark = fake_header(r, S3_MARK);

    u->path = strdup(path);
    snprintf(u->mark, sizeof(u->mark), "%s", mark != NULL ? mark : "");
    free(mark);
    snprintf(u->id, sizeof(u->id), "upload+%u", ++s3->upload_number);
    u->next = s3->uploads;
    s3->uploads = u;
    fake_answer_body(a, "<InitiateMultipartUploadResult><UploadId>%s</UploadId>"
                     "</InitiateMultipartUploadResult>", u->id);
}

static void put_part(struct fake_s3 *s3, struct fake_upload *u, unsigned number, uint8_t *data,
                     size_t size, struct fake_answer *a)
{
    struct fake_part *part = &u->parts[number - 1];

    free(part->data);
    part->data = data;
    part->size = size;
    md5_text(data, size, part->md5);
    if (s3->kms)
        part->md5[0] ^= 1;
    if (s3->kms && !s3->hides_kms)
        fake_answer_header(a, "x-amz-server-side-encryption: aws:kms");
    fake_answer_header(a, "ETag: \"%s\"", part->md5);
}

/* Joins the parts that the request's body names. They must be the uploaded parts, in order. Returns
 * NULL, or the code with which the request is refused. */
static const char *join_parts(const struct fake_upload *u, const struct fake_request *r,
                              struct buf *whole, unsigned *count)
{
    char *text = strndup((const char *)r->body, r->body_size);
    bool good = true;
    char expected[128];

    *count = 0;
    for (const char *at = text; good && (at = strstr(at, "<Part>")) != NULL; at++) {
        const struct fake_part *part = &u->parts[(*count)++];

        snprintf(expected, sizeof(expected), "<Part><PartNumber>%u</PartNumber><ETag>\"%s\"</ETag>",
                 *count, part->md5);
        good = part->data != NULL && strncmp(at, expected, strlen(expected)) == 0 &&
               buf_append(whole, part->data, part->size, NULL) == SHEAF_OK;
    }
    free(text);
    if (!good || *count == 0)
        return "InvalidPart";
    for (unsigned i = 0; i + 1 < *count; i++)
        if (u->parts[i].size < part_bytes_least)
            return "EntityTooSmall";
    return NULL;
}

/* Returns whether the condition of a write or removal holds. If not, sets the response. */
static bool may_act(struct fake_s3 *s3, const char *path, const struct fake_request *r,
                    struct fake_answer *a)
{
    const char *refusal = refusal_of(r, fake_s3_object(s3, path));
    char *none = fake_header(r, "if-none-match"), *match = fake_header(r, "if-match");

    if ((none != NULL || match != NULL) && s3->no_conditional_put)
        refusal = "NotImplemented";
    if (refusal != NULL)
        fake_s3_error(a, refusal, "");
    free(none);
    free(match);
    return a->status == 200;
}

static void complete_upload(struct fake_s3 *s3, struct fake_upload **place,
                            const struct fake_request *r, const struct fake_fault *fault,
                            struct fake_answer *a)
{
    struct buf whole = BUF_INIT(SIZE_MAX / 4), md5s = BUF_INIT(65536);
    const char *refusal;
    struct fake_object *o;
    unsigned count;
    char md5[33];

    if (fault != NULL && fault->kind == FAKE_ERROR_IN_200) {
        fake_s3_error(a, fault->code, "");
        a->status = 200;
        return;
    }
    refusal = join_parts(*place, r, &whole, &count);
    if (refusal != NULL) {
        buf_free(&whole);
        fake_s3_error(a, refusal, "");
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        unsigned char digest[16];

        EVP_Digest((*place)->parts[i].data, (*place)->parts[i].size, digest, NULL, EVP_md5(), NULL);
        if (buf_append(&md5s, digest, 16, NULL) != SHEAF_OK)
            abort();
    }
    md5_text(md5s.data, md5s.size, md5);
    buf_free(&md5s);
    o = object_add(s3, (*place)->path, whole.data, whole.size);
    snprintf(o->etag, sizeof(o->etag), "\"%s-%u\"", md5, count);
    memcpy(o->mark, (*place)->mark, sizeof(o->mark));
    upload_free(place);
    fake_answer_body(a, "<CompleteMultipartUploadResult><ETag>%s</ETag>"
                     "</CompleteMultipartUploadResult>", s3->empty_complete ? "" : o->etag);
}

static void serve_upload(struct fake_s3 *s3, const char *path, const char *id,
                         const struct fake_request *r, const struct fake_fault *fault,
                         struct fake_answer *a)
{
    struct fake_upload **place = find_upload(s3, path, id);
    char *text = fake_s3_parameter(r, "partNumber");
    const unsigned long number = text != NULL ? strtoul(text, NULL, 10) : 0;

    if (*place == NULL) {
        fake_s3_error(a, "NoSuchUpload", "");
    } else if (strcmp(r->method, "PUT") == 0 && number >= 1 &&
               number <= COUNT_OF((*place)->parts)) {
        uint8_t *data = compare_checksum(s3, r, fault, a) ? copy_of(r->body, r->body_size) : NULL;

        if (data != NULL && fault != NULL && fault->kind == FAKE_WRONG_BYTES && r->body_size != 0)
            data[r->body_size / 2] ^= 1;
        if (data != NULL)
            put_part(s3, *place, (unsigned)number, data, r->body_size, a);
    } else if (strcmp(r->method, "POST") == 0) {
        if (may_act(s3, path, r, a))
            complete_upload(s3, place, r, fault, a);
    } else if (strcmp(r->method, "DELETE") == 0) {
        upload_free(place);
        a->status = 204;
    } else {
        fake_s3_error(a, "InvalidRequest", "");
    }
    free(text);
}

/* ---- PUT, DELETE and the choice -------------------------------------------------------------- */

static void put_object(struct fake_s3 *s3, const char *path, const struct fake_request *r,
                       const struct fake_fault *fault, struct fake_answer *a)
{
    struct fake_object *o;
    uint8_t *data;

    if (!may_act(s3, path, r, a) || !compare_checksum(s3, r, fault, a))
        return;
    data = copy_of(r->body, r->body_size);
    if (fault != NULL && fault->kind == FAKE_WRONG_BYTES && r->body_size != 0)
        data[r->body_size / 2] ^= 1;
    o = object_add(s3, path, data, r->body_size);
    if (s3->kms && !s3->hides_kms)
        fake_answer_header(a, "x-amz-server-side-encryption: aws:kms");
    fake_answer_header(a, "ETag: %s", o->etag);
}

static void serve_object(struct fake_s3 *s3, const char *path, const struct fake_request *r,
                         const struct fake_fault *fault, struct fake_answer *a)
{
    const struct fake_object *o = fake_s3_object(s3, path);
    char *id = fake_s3_parameter(r, "uploadId");

    if (id != NULL)
        serve_upload(s3, path, id, r, fault, a);
    else if (strcmp(r->method, "POST") == 0 && has_parameter(r, "uploads"))
        begin_upload(s3, path, r, a);
    else if (strcmp(r->method, "PUT") == 0)
        put_object(s3, path, r, fault, a);
    else if (strcmp(r->method, "DELETE") == 0) {
        if (may_act(s3, path, r, a)) {
            object_remove(s3, path);
            a->status = 204;
        }
    } else if (o == NULL)
        fake_s3_error(a, "NoSuchKey", "");
    else
        get_object(s3, o, r, fault, a);
    free(id);
}

static void serve(void *context, const struct fake_request *r, const struct fake_fault *fault,
                  struct fake_answer *a)
{
    struct fake_s3 *s3 = context;
    char *path = strdup(r->path), *key;

    if (!url_decode(path, false)) {
        fake_s3_error(a, "InvalidURI", "");
    } else if (!fake_aws_credentials(s3, r, a) && fake_aws_check(s3, r, a)) {
        key = strchr(path + 1, '/');
        if (strncmp(path, "/no-such-bucket", 15) == 0) {
            fake_s3_error(a, "NoSuchBucket", "");
        } else if (key != NULL && key[1] != '\0') {
            serve_object(s3, path, r, fault, a);
        } else {
            if (key != NULL)
                *key = '\0';
            if (has_parameter(r, "uploads"))
                fake_s3_list_uploads(s3, r, path, a);
            else if (s3->listing != FAKE_LISTING_ENDS)
                fake_s3_list_for_ever(s3, r, a);
            else
                fake_s3_list_objects(s3, r, path, a);
        }
    }
    free(path);
    if (strcmp(r->method, "HEAD") == 0 && a->status >= 300)
        a->body.size = 0;
}

/* ---- The service ----------------------------------------------------------------------------- */

void fake_s3_start(struct fake_s3 *s3)
{
    memset(s3, 0, sizeof(*s3));
    s3->page = 1000;
    s3->life_ms = 3600000;
    fake_aws_new_key(s3, false);
    s3->server = fake_server_start(serve, s3);
}

void fake_s3_stop(struct fake_s3 *s3)
{
    remote_reset(NULL, NULL);
    fake_server_stop(s3->server);
    while (s3->objects != NULL)
        object_remove(s3, s3->objects->path);
    while (s3->uploads != NULL)
        upload_free(&s3->uploads);
    free(s3->form);
}

unsigned fake_s3_uploads(const struct fake_s3 *s3)
{
    unsigned count = 0;

    for (const struct fake_upload *u = s3->uploads; u != NULL; u = u->next)
        count++;
    return count;
}

const char *fake_s3_endpoint(const struct fake_s3 *s3)
{
    static char endpoint[64];

    snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%u", fake_server_port(s3->server));
    return endpoint;
}

void fake_s3_use(const struct fake_s3 *s3, unsigned stall_ms)
{
    static const char *const unset[] = {
        "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_REGION",
        "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_STS", "AWS_CA_BUNDLE",
        "AWS_NO_SIGN_REQUEST", "AWS_REQUEST_CHECKSUM_CALCULATION", "SHEAF_S3_ADDRESSING",
        "SHEAF_SESSION_TAGS", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_EC2_METADATA_SERVICE_ENDPOINT",
        "SHEAF_REQUEST_TIMEOUT", "SHEAF_MIN_RATE", "http_proxy", "HTTP_PROXY",
    };
    const struct request_patience patience = {
        .retry = { .attempts = 6, .time_ns = 60000000000, .base_ns = 1000000,
                   .longest_ns = 20000000 },
        .stall_ns = (uint64_t)stall_ms * 1000000, .stall_bytes = 100,
        .patient_ns = (uint64_t)stall_ms * 2000000,
    };

    for (size_t i = 0; i < COUNT_OF(unset); i++)
        unsetenv(unset[i]);
    setenv("AWS_CONFIG_FILE", "/nonexistent", 1);
    setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1);
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    setenv("AWS_ENDPOINT_URL", fake_s3_endpoint(s3), 1);
    setenv("AWS_ACCESS_KEY_ID", FAKE_ACCESS, 1);
    setenv("AWS_SECRET_ACCESS_KEY", FAKE_SECRET, 1);
    remote_reset(&patience, fake_s3_endpoint(s3));
}
