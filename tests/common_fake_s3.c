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

void fake_s3_refuse(struct fake_answer *a, const char *code, const char *message,
                    const char *more)
{
    size_t i = 0;

    while (strcmp(errors[i].code, code) != 0)
        if (++i == COUNT_OF(errors))
            abort();        /* tests/s3/rules.def has no such error */
    a->status = errors[i].status;
    a->headers.size = a->body.size = 0;
    fake_answer_body(a, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code>"
                     "<Message>%s</Message>%s</Error>", code, message, more);
}

void fake_s3_error(struct fake_answer *a, const char *code, const char *more)
{
    fake_s3_refuse(a, code, "fake", more);
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

static void object_free(struct fake_object *o)
{
    free(o->path);
    free(o->data);
    free(o->meta);
    free(o);
}

bool fake_s3_remove_locked(struct fake_s3 *s3, const char *path)
{
    struct fake_object **place = &s3->objects, *o;

    while (*place != NULL && strcmp((*place)->path, path) != 0)
        place = &(*place)->next;
    o = *place;
    if (o == NULL)
        return false;
    *place = o->next;
    object_free(o);
    return true;
}

/* Computes an ETag without quotes: the MD5 of the bytes or, as with KMS, a text of the same form
 * that is never the same. */
static void tag(struct fake_s3 *s3, const void *data, size_t size, char text[33])
{
    char number[16];

    if (!s3->kms) {
        md5_text(data, size, text);
        return;
    }
    snprintf(number, sizeof(number), "tag %u", ++s3->tag_number);
    md5_text(number, strlen(number), text);
}

/* Adds an object, which replaces the object with the same path. */
static void insert_locked(struct fake_s3 *s3, struct fake_object *o)
{
    struct fake_object **place = &s3->objects;

    fake_s3_remove_locked(s3, o->path);
    while (*place != NULL && strcmp((*place)->path, o->path) < 0)
        place = &(*place)->next;
    o->next = *place;
    *place = o;
}

struct fake_object *fake_s3_add_locked(struct fake_s3 *s3, const char *path, uint8_t *data,
                                       size_t size)
{
    struct fake_object *o = calloc(1, sizeof(*o));
    char text[33];

    o->path = strdup(path);
    o->data = data;
    o->size = size;
    tag(s3, data, size, text);
    snprintf(o->etag, sizeof(o->etag), "\"%s\"", text);
    insert_locked(s3, o);
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
    fake_s3_add_locked(s3, path, copy_of(data, size), size);
    fake_server_unlock(s3->server);
}

/* Returns the lines of a request's headers whose names begin with "x-amz-meta-". */
static char *meta_of(const struct fake_request *r)
{
    char *meta = malloc(strlen(r->headers) + 1), *out = meta;

    for (const char *line = r->headers; *line != '\0'; line = strchr(line, '\n') + 1)
        if (strncmp(line, "x-amz-meta-", 11) == 0)
            out = mempcpy(out, line, strcspn(line, "\n") + 1);
    *out = '\0';
    return meta;
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

const char *fake_s3_key(const char *path)
{
    const char *slash = strchr(path + 1, '/');

    return slash != NULL ? slash + 1 : "";
}

const char *fake_s3_operation(const struct fake_request *r, const char *key)
{
    static const char *const names[][3] = {
        { "PUT", "PutObject", "UploadPart" }, { "GET", "GetObject", "GetObject" },
        { "HEAD", "HeadObject", "HeadObject" }, { "POST", "?", "CompleteMultipartUpload" },
        { "DELETE", "DeleteObject", "AbortMultipartUpload" },
    };
    const bool begins = has_parameter(r, "uploads");

    if (*key == '\0')
        return begins ? "ListMultipartUploads" : "ListObjectsV2";
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(names[i][0], r->method) == 0)
            return begins ? "CreateMultipartUpload" : names[i][1 + has_parameter(r, "uploadId")];
    return "?";
}

static bool is_read(const struct fake_condition *c)
{
    return strcmp(c->method, "GET") == 0 || strcmp(c->method, "HEAD") == 0;
}

/* Returns whether the object's ETag is that of a condition's header. radosgw compares it without
 * its quotes before a write. */
static bool is_same(const struct fake_s3 *s3, const struct fake_condition *c, const char *etag,
                    const struct fake_object *o)
{
    const size_t size = strlen(o->etag);

    if (!is_read(c) && strcmp(c->header, "if-match") == 0 && fake_s3_speaks(s3, "bare_etags"))
        return strlen(etag) == size - 2 && strncmp(etag, o->etag + 1, size - 2) == 0;
    return strcmp(etag, o->etag) == 0;
}

static bool is_ignored(const struct fake_s3 *s3, const struct fake_condition *c)
{
    return !is_read(c) &&
           (fake_s3_speaks(s3, "no_conditions") ||
            (strcmp(c->header, "if-match") == 0 && fake_s3_speaks(s3, "no_if_match")));
}

/* Returns the code with which a condition of the request refuses it, or NULL. If several codes are
 * right, one is chosen at random. `o` is the request's object, or NULL if it does not exist. */
static const char *refusal_of(struct fake_s3 *s3, const struct fake_request *r,
                              const struct fake_object *o)
{
    const char *code = NULL;
    unsigned count = 0;

    for (size_t i = 0; i < COUNT_OF(conditions); i++) {
        const struct fake_condition *c = &conditions[i];
        char *etag = strcmp(c->method, r->method) == 0 ? fake_header(r, c->header) : NULL;
        const char *state = o == NULL ? "absent"
                          : etag != NULL && is_same(s3, c, etag, o) ? "same" : "other";

        if (etag != NULL && strcmp(c->object, state) == 0 && !is_ignored(s3, c) &&
            rng_below(&s3->chance.rng, ++count) == 0)
            code = c->code;
        free(etag);
    }
    return code;
}

/* ---- GET and HEAD ---------------------------------------------------------------------------- */

/* Parses a range such as "bytes=1-2" or "bytes=-1" of an object with `size` bytes. Returns 1 for a
 * valid range, 0 if the whole object is requested, and -1 if the range lies outside of the
 * object. */
static int parse_range(const struct fake_request *r, size_t size, size_t *first, size_t *last)
{
    char *text = fake_header(r, "range");
    size_t count = 0;
    const bool is_end = text != NULL && sscanf(text, "bytes=-%zu", &count) == 1;
    const int found = text != NULL ? sscanf(text, "bytes=%zu-%zu", first, last) : 0;

    free(text);
    if (is_end) {
        *first = size - MIN(count, size);
        *last = size - 1;
    } else if (found != 2) {
        return 0;
    }
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

static void append_body(struct fake_answer *a, const void *data, size_t size)
{
    if (buf_append(&a->body, data, size, NULL) != SHEAF_OK)
        abort();
}

/* Adds the headers of an object other than its range. */
static void add_headers(const struct fake_s3 *s3, const struct fake_object *o,
                        const struct fake_request *r, const struct fake_fault *fault,
                        struct fake_answer *a)
{
    const bool wrong = fault != NULL && fault->kind == FAKE_WRONG_PARTS;
    char *mode = fake_header(r, "x-amz-checksum-mode");

    fake_answer_header(a, "Accept-Ranges: bytes");
    for (const char *line = o->meta; line != NULL && *line != '\0'; line = strchr(line, '\n') + 1)
        fake_answer_header(a, "%.*s", (int)strcspn(line, "\n"), line);
    for (unsigned i = 0; i < FAKE_SUMS; i++)
        if (mode != NULL && o->sums.text[i][0] != '\0' && !s3->no_checksums)
            fake_answer_header(a, "%s: %s", fake_sum_kinds[i]->header, o->sums.text[i]);
    if (s3->kms && !s3->hides_kms)
        fake_answer_header(a, "x-amz-server-side-encryption: aws:kms");
    if (s3->etags != FAKE_STRONG_ETAGS && s3->etags != FAKE_NOTHING)
        add_date(o, a);
    if (s3->etags <= FAKE_WEAK_ETAGS)
        fake_answer_header(a, "ETag: %s%s%s", s3->etags == FAKE_WEAK_ETAGS ? "W/" : "",
                           wrong ? "\"0123456789abcdef0123456789abcdef" : o->etag,
                           wrong ? o->etag + 33 : "");
    free(mode);
}

static void get_object(struct fake_s3 *s3, const struct fake_object *o,
                       const struct fake_request *r, const struct fake_fault *fault,
                       struct fake_answer *a)
{
    const enum fake_kind kind = fault != NULL ? fault->kind : 0;
    size_t first = 0, last = o->size - 1;
    int range = kind == FAKE_WHOLE ? 0 : parse_range(r, o->size, &first, &last);
    const bool is_first = range > 0 && last == 0, is_head = strcmp(r->method, "HEAD") == 0;
    const char *refusal = refusal_of(s3, r, o);

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
    if (kind == FAKE_SHORT && (range != 0 || is_head))
        last -= fault->anywhere ? fake_fault_at(fault, last + 1 - first)
                                : MIN(MAX(fault->at, 1), last - first);
    if (kind == FAKE_LONG)
        last = MIN(last + fault->at, o->size - 1);
    a->status = range != 0 ? 206 : 200;
    /* A client that asks for the first byte learns only the total, which must then be right. */
    if (range != 0 && kind != FAKE_NO_RANGE)
        fake_answer_header(a, "Content-Range: bytes %zu-%zu/%zu",
                           first + (kind == FAKE_WRONG_RANGE),
                           last + (kind == FAKE_WRONG_RANGE && first == last),
                           o->size + (kind == FAKE_WRONG_TOTAL && !is_first));
    add_headers(s3, o, r, fault, a);
    a->content_length = last + 1 - first;
    if (!is_head)
        append_body(a, o->data + first, last + 1 - first);
    if (kind == FAKE_LONG_BODY && range != 0)
        append_body(a, "x", 1);
}

/* Compares the received bytes with the checksums in the request's headers, and returns them. If
 * the bytes differ, returns false and sets the response. */
static bool compare_checksum(const struct fake_s3 *s3, const struct fake_request *r,
                             const struct fake_fault *fault, struct fake_sums *sums,
                             struct fake_answer *a)
{
    const bool damaged = fault != NULL && fault->kind == FAKE_WRONG_BYTES && r->body_size != 0;

    memset(sums, 0, sizeof(*sums));
    if (s3->no_checksums)
        return true;
    fake_sums_sent(r, sums);
    for (unsigned i = 0; i < FAKE_SUMS; i++) {
        char found[24];

        if (sums->text[i][0] == '\0')
            continue;
        fake_sum(i, r->body, r->body_size, found);
        if (damaged || strcmp(found, sums->text[i]) != 0) {
            fake_s3_error(a, "BadDigest", "");
            return false;
        }
        fake_answer_header(a, "%s: %s", fake_sum_kinds[i]->header, found);
    }
    return true;
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
    free(u->meta);
    free(u);
}

static void begin_upload(struct fake_s3 *s3, const char *path, const struct fake_request *r,
                         struct fake_answer *a)
{
    struct fake_upload *u = calloc(1, sizeof(*u));
    char *kind = fake_header(r, "x-amz-checksum-algorithm");

    for (unsigned i = 0; i < FAKE_SUMS && kind != NULL && !s3->no_checksums; i++)
        if (strcmp(kind, fake_sum_kinds[i]->word) == 0)
            u->kind = fake_sum_kinds[i];
    free(kind);
    if (u->kind != NULL && !s3->sums_of_parts)
        fake_answer_header(a, "x-amz-checksum-type: FULL_OBJECT");
    u->path = strdup(path);
    u->meta = meta_of(r);
    snprintf(u->id, sizeof(u->id), "upload+%u", ++s3->upload_number);
    u->next = s3->uploads;
    s3->uploads = u;
    fake_answer_body(a, "<InitiateMultipartUploadResult><UploadId>%s</UploadId>"
                     "</InitiateMultipartUploadResult>", u->id);
}

/* Keeps a part, and takes ownership of the data. */
static void keep_part(struct fake_s3 *s3, struct fake_part *part, uint8_t *data, size_t size,
                      const struct fake_sums *sums, struct fake_answer *a)
{
    free(part->data);
    part->data = data;
    part->size = size;
    part->sums = *sums;
    tag(s3, data, size, part->etag);
    if (s3->kms && !s3->hides_kms)
        fake_answer_header(a, "x-amz-server-side-encryption: aws:kms");
    fake_answer_header(a, "ETag: \"%s\"", part->etag);
}

static void put_part(struct fake_s3 *s3, struct fake_upload *u, unsigned long number,
                     const struct fake_request *r, const struct fake_fault *fault,
                     struct fake_answer *a)
{
    struct fake_sums sums;
    uint8_t *data;

    if (number < 1 || number > COUNT_OF(u->parts)) {
        fake_s3_error(a, "InvalidRequest", "");
        return;
    }
    if (!compare_checksum(s3, r, fault, &sums, a))
        return;
    for (unsigned i = 0; i < FAKE_SUMS; i++)
        if (u->kind == fake_sum_kinds[i] && sums.text[i][0] == '\0') {
            fake_s3_refuse(a, "InvalidRequest", "the upload has another checksum", "");
            return;
        }
    data = copy_of(r->body, r->body_size);
    if (fault != NULL && fault->kind == FAKE_WRONG_BYTES && r->body_size != 0)
        data[r->body_size / 2] ^= 1;
    keep_part(s3, &u->parts[number - 1], data, r->body_size, &sums, a);
}

/* Returns whether the text of a part in the request for a completion has an element with this
 * value, perhaps in quotes. */
static bool names(const char *text, const char *element, const char *value)
{
    const char *end = strstr(text, "</Part>");
    char start[64];
    const char *at;

    snprintf(start, sizeof(start), "<%s>", element);
    at = strstr(text, start);
    if (at == NULL || end == NULL || at > end)
        return false;
    at += strlen(start);
    at += *at == '"' ? 1 : strncmp(at, "&quot;", 6) == 0 ? 6 : 0;
    return strncmp(at, value, strlen(value)) == 0 && strchr("\"&<", at[strlen(value)]) != NULL;
}

/* Finds the parts that the request's body names, which must be the uploaded parts, in order.
 * Returns NULL, or the code with which the request is refused. */
static const char *find_parts(const struct fake_upload *u, const struct fake_request *r,
                              const struct fake_part *parts[FAKE_PARTS_MOST], unsigned *count)
{
    char *text = strndup((const char *)r->body, r->body_size), number[16];
    bool good = true;

    *count = 0;
    for (const char *at = text; good && (at = strstr(at, "<Part>")) != NULL; at++) {
        const struct fake_part *part = &u->parts[*count];

        parts[(*count)++] = part;
        snprintf(number, sizeof(number), "%u", *count);
        good = part->data != NULL && names(at, "PartNumber", number) &&
               names(at, "ETag", part->etag);
        for (unsigned i = 0; i < FAKE_SUMS; i++)
            good = good && (part->sums.text[i][0] == '\0' ||
                            names(at, fake_sum_kinds[i]->element, part->sums.text[i]));
    }
    free(text);
    if (!good || *count == 0)
        return "InvalidPart";
    for (unsigned i = 0; i + 1 < *count; i++)
        if (parts[i]->size < part_bytes_least)
            return "EntityTooSmall";
    return NULL;
}

/* Returns whether the condition of a write or removal holds. If not, sets the response. */
static bool may_act(struct fake_s3 *s3, const char *path, const struct fake_request *r,
                    struct fake_answer *a)
{
    const char *refusal = refusal_of(s3, r, fake_s3_object(s3, path));
    char *none = fake_header(r, "if-none-match"), *match = fake_header(r, "if-match");

    if ((none != NULL || match != NULL) && s3->no_conditional_put)
        refusal = "NotImplemented";
    if (refusal != NULL)
        fake_s3_error(a, refusal, "");
    free(none);
    free(match);
    return a->status == 200;
}

/* Returns the object that the parts make. It is not yet one of the service's objects. */
static struct fake_object *join_parts(const struct fake_s3 *s3, const struct fake_upload *u,
                                      const struct fake_part *const *parts, unsigned count)
{
    struct fake_object *o = calloc(1, sizeof(*o));
    unsigned char digests[16 * FAKE_PARTS_MOST];
    char md5[33];

    for (unsigned i = 0; i < count; i++)
        o->size += parts[i]->size;
    o->data = malloc(o->size + 1);
    o->size = 0;
    for (unsigned i = 0; i < count; i++) {
        memcpy(o->data + o->size, parts[i]->data, parts[i]->size);
        o->size += parts[i]->size;
        for (unsigned j = 0; j < 16; j++)
            sscanf(parts[i]->etag + 2 * j, "%2hhx", &digests[16 * i + j]);
    }
    md5_text(digests, 16 * count, md5);
    snprintf(o->etag, sizeof(o->etag), "\"%s-%u\"", md5, count);
    for (unsigned i = 0; i < FAKE_SUMS; i++) {
        if (u->kind != fake_sum_kinds[i])
            continue;
        if (s3->sums_of_parts && u->kind->bits != 64)
            fake_sum_of_parts(i, parts, count, o->sums.text[i]);
        else
            fake_sum(i, o->data, o->size, o->sums.text[i]);
    }
    o->path = strdup(u->path);
    o->meta = strdup(u->meta);
    return o;
}

/* Returns whether the object has the checksums in the headers of the request. */
static bool has_sums(const struct fake_s3 *s3, const struct fake_object *o,
                     const struct fake_request *r)
{
    struct fake_sums sent;

    fake_sums_sent(r, &sent);
    for (unsigned i = 0; i < FAKE_SUMS; i++)
        if (sent.text[i][0] != '\0' && !s3->no_checksums &&
            strcmp(sent.text[i], o->sums.text[i]) != 0)
            return false;
    return true;
}

static void complete_upload(struct fake_s3 *s3, struct fake_upload **place,
                            const struct fake_request *r, const struct fake_fault *fault,
                            struct fake_answer *a)
{
    const struct fake_part *parts[FAKE_PARTS_MOST];
    const char *refusal;
    struct fake_object *o;
    unsigned count;

    if (fault != NULL && fault->kind == FAKE_ERROR_IN_200) {
        fake_answer_body(a, "  \n<Error><Code>%s</Code><Message>fake</Message></Error>",
                         fault->code);
        return;
    }
    refusal = find_parts(*place, r, parts, &count);
    if (refusal != NULL) {
        fake_s3_error(a, refusal, "");
        return;
    }
    o = join_parts(s3, *place, parts, count);
    if (!has_sums(s3, o, r)) {
        fake_s3_error(a, "BadDigest", "");
    } else if (may_act(s3, o->path, r, a)) {
        insert_locked(s3, o);
        upload_free(place);
        fake_answer_body(a, "<CompleteMultipartUploadResult><ETag>%s</ETag>"
                         "</CompleteMultipartUploadResult>", s3->empty_complete ? "" : o->etag);
        return;
    }
    object_free(o);
}

static void serve_upload(struct fake_s3 *s3, const char *path, const char *id,
                         const struct fake_request *r, const struct fake_fault *fault,
                         struct fake_answer *a)
{
    struct fake_upload **place = find_upload(s3, path, id);
    char *text = fake_s3_parameter(r, "partNumber");
    const unsigned long number = text != NULL ? strtoul(text, NULL, 10) : 0;

    if (*place == NULL)
        fake_s3_error(a, "NoSuchUpload", "");
    else if (strcmp(r->method, "PUT") == 0)
        put_part(s3, *place, number, r, fault, a);
    else if (strcmp(r->method, "POST") == 0)
        complete_upload(s3, place, r, fault, a);
    else if (strcmp(r->method, "DELETE") == 0) {
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
    struct fake_sums sums;
    struct fake_object *o;
    uint8_t *data;

    if (!compare_checksum(s3, r, fault, &sums, a) || !may_act(s3, path, r, a))
        return;
    data = copy_of(r->body, r->body_size);
    if (fault != NULL && fault->kind == FAKE_WRONG_BYTES && r->body_size != 0)
        data[r->body_size / 2] ^= 1;
    o = fake_s3_add_locked(s3, path, data, r->body_size);
    o->sums = sums;
    o->meta = meta_of(r);
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
            fake_s3_remove_locked(s3, path);
            a->status = 204;
        }
    } else if (strcmp(r->method, "POST") == 0)
        fake_s3_error(a, "InvalidRequest", "");
    else if (o == NULL)
        fake_s3_error(a, "NoSuchKey", "");
    else
        get_object(s3, o, r, fault, a);
    free(id);
}

/* ---- A request ------------------------------------------------------------------------------- */

/* Produces the faults that change a response. */
static void change(const struct fake_fault *fault, struct fake_answer *a)
{
    char *value = NULL;

    if (fault->kind == FAKE_WRONG_ETAG && (value = fake_answer_remove(a, "ETag:")) != NULL)
        fake_answer_header(a, "ETag: \"another\"");
    for (unsigned i = 0; i < FAKE_SUMS && fault->kind == FAKE_WRONG_CHECKSUM; i++) {
        free(value);
        value = fake_answer_remove(a, fake_sum_kinds[i]->header);
        if (value != NULL)
            fake_answer_header(a, "%s: AAAA%s", fake_sum_kinds[i]->header, value + 4);
    }
    free(value);
    if (fault->kind == FAKE_ELSEWHERE) {
        fake_s3_error(a, "AuthorizationHeaderMalformed", "");
        fake_answer_header(a, "x-amz-bucket-region: eu-west-1");
    }
}

static void serve_path(struct fake_s3 *s3, char *path, const struct fake_request *r,
                       const struct fake_fault *fault, struct fake_answer *a)
{
    const char *what = fake_s3_operation(r, fake_s3_key(path));
    char *key = strchr(path + 1, '/');
    bool meets;

    if (strncmp(path, "/no-such-bucket", 15) == 0) {
        fake_s3_error(a, "NoSuchBucket", "");
        return;
    }
    meets = fake_s3_allows(s3, r, what, a);
    fake_s3_record(s3, r, what, !meets);
    if (!meets)
        return;
    if (key != NULL && key[1] != '\0') {
        serve_object(s3, path, r, fault, a);
        return;
    }
    if (key != NULL)
        *key = '\0';
    if (has_parameter(r, "uploads"))
        fake_s3_list_uploads(s3, r, path, a);
    else if (s3->listing != FAKE_LISTING_ENDS)
        fake_s3_list_for_ever(s3, r, a);
    else
        fake_s3_list_objects(s3, r, path, fault, a);
}

static void serve(void *context, const struct fake_request *r, const struct fake_fault *fault,
                  struct fake_answer *a)
{
    struct fake_s3 *s3 = context;
    char *path = strdup(r->path);

    if (!url_decode(path, false)) {
        fake_s3_error(a, "InvalidURI", "");
    } else if (!fake_aws_credentials(s3, r, a) && fake_aws_check(s3, r, a)) {
        serve_path(s3, path, r, fault, a);
        fake_s3_speak(s3, &(struct fake_speech){
            .request = r, .key = fake_s3_key(path),
            .what = fake_s3_operation(r, fake_s3_key(path)), .answer = a,
            .found = fake_s3_object(s3, path), .has_uploads = s3->uploads != NULL });
        if (fault != NULL)
            change(fault, a);
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
    s3->requests.limit = 1 << 24;
    fake_chance_init(&s3->chance);
    s3->server = fake_server_start(serve, s3);
    fake_server_watch(s3->server, fake_s3_choose, NULL);
}

void fake_s3_stop(struct fake_s3 *s3)
{
    remote_reset(NULL, NULL);
    fake_server_stop(s3->server);
    while (s3->objects != NULL)
        fake_s3_remove_locked(s3, s3->objects->path);
    fake_s3_clear_uploads_locked(s3);
    regfree(&s3->chance.checked);
    buf_free(&s3->requests);
    free(s3->every);
    free(s3->new);
    free(s3->form);
}

void fake_s3_clear_uploads_locked(struct fake_s3 *s3)
{
    while (s3->uploads != NULL)
        upload_free(&s3->uploads);
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
