/* SPDX-License-Identifier: MIT
 *
 * Dialects of S3 that other servers speak. Each is a function that changes a response as that
 * server would. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "tests/common_fake_s3.h"

static void refuse(const struct fake_speech *s, const char *code)
{
    fake_s3_error(s->answer, code, "");
}

static void answer_nothing(const struct fake_speech *s, int status)
{
    s->answer->status = status;
    s->answer->headers.size = s->answer->body.size = s->answer->content_length = 0;
}

static bool is(const struct fake_speech *s, const char *what)
{
    return strcmp(s->what, what) == 0;
}

static bool is_method(const struct fake_speech *s, const char *method)
{
    return strcmp(s->request->method, method) == 0;
}

/* Replaces a text each time that it occurs in an XML response. `new` must not be longer. */
static void replace(const struct fake_speech *s, const char *old, const char *new)
{
    struct buf *body = &s->answer->body;
    uint8_t *at = body->data;

    if (is_method(s, "GET") && s->key[0] != '\0')
        return;
    while (at != NULL && (at = memmem(at, body->size - (size_t)(at - body->data), old,
                                      strlen(old))) != NULL) {
        const size_t rest = body->size - (size_t)(at - body->data) - strlen(old);

        memmove(at + strlen(new), at + strlen(old), rest);
        memcpy(at, new, strlen(new));
        body->size -= strlen(old) - strlen(new);
    }
}

/* Makes the response one with the whole object, with this status. */
static void answer_whole(const struct fake_speech *s, int status)
{
    const struct fake_object *o = s->found;

    free(fake_answer_remove(s->answer, "Content-Range:"));
    s->answer->status = status;
    s->answer->body.size = 0;
    if (buf_append(&s->answer->body, o->data, o->size, NULL) != SHEAF_OK)
        abort();
}

static bool is_of_first_byte(const struct fake_speech *s)
{
    char *range = fake_header(s->request, "range");
    const bool first = range != NULL && strcmp(range, "bytes=0-0") == 0;

    free(range);
    return first && s->answer->status == 206;
}

static void weaken(const struct fake_speech *s)
{
    char *etag = fake_answer_remove(s->answer, "ETag:");

    if (etag != NULL)
        fake_answer_header(s->answer, "ETag: W/%s", etag);
    free(etag);
}

/* ---- The dialects ---------------------------------------------------------------------------- */

/* Adobe S3Mock: the response to a range of an empty object has status 206. */
static void empty_206(const struct fake_speech *s)
{
    if (s->answer->status != 416 || s->found == NULL)
        return;
    answer_nothing(s, 206);
    fake_answer_header(s->answer, "Content-Range: bytes 0--1/0");
    fake_answer_header(s->answer, "ETag: %s", s->found->etag);
}

/* s3rver: a request for the range of the first byte returns the whole object. */
static void first_byte_is_whole(const struct fake_speech *s)
{
    if (!is_of_first_byte(s))
        return;
    answer_whole(s, 206);
    fake_answer_header(s->answer, "Content-Range: bytes 0-%zu/%zu", s->found->size - 1,
                       s->found->size);
}

static void head_not_implemented(const struct fake_speech *s)
{
    if (is_method(s, "HEAD"))
        answer_nothing(s, 501);
}

/* The response to HEAD has no Content-Length, as from a proxy that compresses. */
static void head_without_length(const struct fake_speech *s)
{
    if (!is_method(s, "HEAD"))
        return;
    s->answer->has_no_length = true;
    fake_answer_header(s->answer, "Transfer-Encoding: chunked");
}

/* A proxy removes the ETag from responses that it may change, to GET and HEAD. */
static void no_etag(const struct fake_speech *s)
{
    if (is_method(s, "GET") || is_method(s, "HEAD"))
        free(fake_answer_remove(s->answer, "ETag:"));
}

/* No response tells an ETag, not even that to a write. */
static void no_etag_at_all(const struct fake_speech *s)
{
    struct buf *body = &s->answer->body;
    uint8_t *at;

    free(fake_answer_remove(s->answer, "ETag:"));
    while (s->key[0] == '\0' && body->size != 0 &&
           (at = memmem(body->data, body->size, "<ETag>", 6)) != NULL) {
        const uint8_t *end = memmem(at, body->size - (size_t)(at - body->data), "</ETag>", 7);

        memmove(at, end + 7, body->size - (size_t)(end + 7 - body->data));
        body->size -= (size_t)(end + 7 - at);
    }
}

static void no_head(const struct fake_speech *s)
{
    if (is_method(s, "HEAD"))
        answer_nothing(s, 405);
}

/* gofakes3, rclone serve s3: if there is no upload, listing uploads is an error. */
static void no_such_upload(const struct fake_speech *s)
{
    if (is(s, "ListMultipartUploads") && !s->has_uploads)
        refuse(s, "NoSuchUpload");
}

/* The server refuses to list uploads. */
static void no_upload_listing(const struct fake_speech *s)
{
    if (is(s, "ListMultipartUploads"))
        refuse(s, "NotImplemented");
}

static void no_uploads_204(const struct fake_speech *s)
{
    if (is(s, "ListMultipartUploads"))
        answer_nothing(s, 204);
}

/* The server does not know the subresource `uploads`. */
static void no_uploads_400(const struct fake_speech *s)
{
    if (is(s, "ListMultipartUploads"))
        refuse(s, "InvalidRequest");
}

/* The server refuses to list uploads. Its response has no body. */
static void no_uploads_404(const struct fake_speech *s)
{
    if (is(s, "ListMultipartUploads"))
        answer_nothing(s, 404);
}

/* The server does not look at the subresource `uploads`, and answers with nothing. */
static void no_uploads_empty(const struct fake_speech *s)
{
    if (is(s, "ListMultipartUploads"))
        answer_nothing(s, 200);
}

/* Responses have other root elements. */
static void other_roots(const struct fake_speech *s)
{
    static const char *const roots[] = { "InitiateMultipartUpload", "CompleteMultipartUpload",
                                         "ListMultipartUploads", "ListBucket" };
    char old[64], new[64];

    for (size_t i = 0; i < COUNT_OF(roots); i++) {
        snprintf(old, sizeof(old), "%sResult", roots[i]);
        snprintf(new, sizeof(new), "%sOutput", roots[i]);
        replace(s, old, new);
    }
}

/* The name of a range unit does not depend on case. */
static void range_unit_in_capitals(const struct fake_speech *s)
{
    char *range = fake_answer_remove(s->answer, "Content-Range:");

    if (range != NULL)
        fake_answer_header(s->answer, "Content-Range: B%s", range + 1);
    free(range);
}

/* Like first_byte_is_whole, but with the status and the headers of a whole object. */
static void ranges_of_one_ignored(const struct fake_speech *s)
{
    if (is_of_first_byte(s))
        answer_whole(s, 200);
}

/* The server looks for the object after it has removed it. */
static void removals_404(const struct fake_speech *s)
{
    if (is(s, "DeleteObject") && s->answer->status == 204)
        answer_nothing(s, 404);
}

/* The server sends a range before it knows the size of the object. */
static void unknown_total(const struct fake_speech *s)
{
    char *range = fake_answer_remove(s->answer, "Content-Range:");

    if (range == NULL)
        return;
    if (strstr(range, "*/") == NULL)
        range[strcspn(range, "/")] = '\0';
    fake_answer_header(s->answer, "Content-Range: %s%s", range,
                       strchr(range, '/') == NULL ? "/*" : "");
    free(range);
}

/* rclone serve s3: the response to the beginning of an upload has another root element. */
static void upload_root(const struct fake_speech *s)
{
    replace(s, "InitiateMultipartUploadResult", "InitiateMultipartUpload");
}

/* A proxy makes all ETags weak, because it may change bodies. */
static void weak_etags(const struct fake_speech *s)
{
    weaken(s);
}

/* A proxy that compresses makes the ETags in responses with a body weak. */
static void weak_etags_of_reads(const struct fake_speech *s)
{
    if (is_method(s, "GET"))
        weaken(s);
}

/* Ranges are not supported: the response is the whole object. */
static void whole_objects(const struct fake_speech *s)
{
    if (s->answer->status == 206)
        answer_whole(s, 200);
}

/* In the order in which several dialects change a response. The dialects without a function change
 * the conditions of requests (see common_fake_s3.c). */
static const struct {
    const char *name;
    void (*speak)(const struct fake_speech *speech);
} dialects[] = {
#define ROW(name) { #name, name }
    { "bare_etags", NULL },         /* radosgw: If-Match is compared with the ETag without quotes */
    ROW(empty_206), ROW(first_byte_is_whole), ROW(head_not_implemented), ROW(head_without_length),
    { "no_conditions", NULL },      /* Garage: conditions on writes are ignored */
    ROW(no_etag), ROW(no_etag_at_all), ROW(no_head),
    { "no_if_match", NULL },        /* only If-Match is ignored */
    ROW(no_such_upload), ROW(no_upload_listing), ROW(no_uploads_204), ROW(no_uploads_400),
    ROW(no_uploads_404), ROW(no_uploads_empty), ROW(other_roots), ROW(range_unit_in_capitals),
    ROW(ranges_of_one_ignored), ROW(removals_404), ROW(unknown_total), ROW(upload_root),
    ROW(weak_etags), ROW(weak_etags_of_reads), ROW(whole_objects),
#undef ROW
};

void fake_s3_speak(const struct fake_s3 *s3, const struct fake_speech *speech)
{
    for (size_t i = 0; i < COUNT_OF(dialects); i++)
        if ((s3->dialects >> i & 1) != 0 && dialects[i].speak != NULL)
            dialects[i].speak(speech);
}

bool fake_s3_speaks(const struct fake_s3 *s3, const char *dialect)
{
    for (size_t i = 0; i < COUNT_OF(dialects); i++)
        if (strcmp(dialects[i].name, dialect) == 0)
            return (s3->dialects >> i & 1) != 0;
    abort();            /* there is no such dialect */
}

const char *fake_dialect_name(unsigned i)
{
    return i < COUNT_OF(dialects) ? dialects[i].name : NULL;
}
