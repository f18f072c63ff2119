/* SPDX-License-Identifier: MIT
 *
 * The listings of the fake service, of objects and of uploads, including listings that never
 * end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/url.h"
#include "tests/common_fake_s3.h"

static void append_key(const struct fake_s3 *s3, struct fake_answer *a, const char *before,
                       const char *key, size_t size, const char *after)
{
    char *text = strndup(key, size);

    fake_answer_body(a, "%s", before);
    if (s3->raw_keys)
        fake_answer_body(a, "%s", text);
    else if (url_encode(&a->body, text, true, NULL) != SHEAF_OK)
        abort();
    fake_answer_body(a, "%s", after);
    free(text);
}

/* Appends a text that is not URL-encoded. */
static void append_escaped(struct fake_answer *a, const char *text)
{
    for (; *text != '\0'; text++) {
        const int plain = (int)strcspn(text, "&<>");

        fake_answer_body(a, "%.*s", plain, text);
        text += plain;
        if (*text == '\0')
            return;
        fake_answer_body(a, "%s", *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : "&gt;");
    }
}

/* Returns the length of the common prefix under which a key is listed, or 0 if the key itself is
 * listed. */
static size_t common_size(const char *key, size_t prefix_size, const char *delimiter)
{
    const char *slash = delimiter != NULL ? strstr(key + prefix_size, delimiter) : NULL;

    return slash != NULL ? (size_t)(slash - key) + strlen(delimiter) : 0;
}

void fake_s3_list_for_ever(struct fake_s3 *s3, const struct fake_request *r,
                           struct fake_answer *a)
{
    const unsigned period = s3->listing == FAKE_CIRCLE ? 7 : 1;
    char *prefix = fake_s3_parameter(r, "prefix");

    fake_answer_body(a, "<ListBucketResult>");
    if (s3->listing != FAKE_EMPTY_PAGES)
        fake_answer_body(a, "<Contents><Key>%skey-%u</Key><ETag>x</ETag><Size>1</Size></Contents>",
                         prefix, s3->pages % period);
    if (s3->listing != FAKE_NO_TOKEN)
        fake_answer_body(a, "<NextContinuationToken>%u</NextContinuationToken>",
                         s3->listing == FAKE_SAME_TOKEN ? 1 : s3->pages);
    fake_answer_body(a, "<IsTruncated>true</IsTruncated></ListBucketResult>");
    s3->pages++;
    free(prefix);
}

void fake_s3_list_objects(struct fake_s3 *s3, const struct fake_request *r, const char *bucket,
                          const struct fake_fault *fault, struct fake_answer *a)
{
    const unsigned page = fault != NULL && fault->kind == FAKE_SHORT_PAGE
                              ? 1 + (unsigned)rng_below(&s3->chance.rng, 3) : s3->page;
    char *prefix = fake_s3_parameter(r, "prefix"), *delimiter = fake_s3_parameter(r, "delimiter");
    char *token = fake_s3_parameter(r, "continuation-token");
    const size_t skip = strlen(bucket) + 1, size = strlen(prefix);
    const char *last = "";      /* the last common prefix that was listed */
    size_t last_size = 0;
    unsigned count = 0;
    bool truncated = false;

    fake_answer_body(a, "<ListBucketResult><EncodingType>url</EncodingType>");
    for (const struct fake_object *o = s3->objects; o != NULL && !truncated; o = o->next) {
        const char *key = o->path + skip;
        size_t common;

        if (strncmp(o->path, bucket, skip - 1) != 0 || o->path[skip - 1] != '/' ||
            strncmp(key, prefix, size) != 0 || (token != NULL && strcmp(key, token) < 0) ||
            (last_size != 0 && strncmp(key, last, last_size) == 0))
            continue;
        common = common_size(key, size, delimiter);
        truncated = count++ == page;
        if (truncated) {
            fake_answer_body(a, "<NextContinuationToken>");
            append_escaped(a, key);
            fake_answer_body(a, "</NextContinuationToken>");
        } else if (common != 0) {
            append_key(s3, a, "<CommonPrefixes><Prefix>", key, common,
                       "</Prefix></CommonPrefixes>");
            last = key;
            last_size = common;
        } else {
            append_key(s3, a, "<Contents><Key>", key, strlen(key), "</Key>");
            if (!s3->no_listed_etags)
                fake_answer_body(a, "<ETag>%s</ETag>", o->etag);
            fake_answer_body(a, "<Size>%zu</Size></Contents>", o->size);
        }
    }
    fake_answer_body(a, "<IsTruncated>%s</IsTruncated></ListBucketResult>",
                     truncated ? "true" : "false");
    free(prefix);
    free(delimiter);
    free(token);
}

static bool is_listed(const struct fake_s3 *s3, const char *key, const char *prefix,
                      const char *delimiter)
{
    if (s3->uploads_by_key)
        return strcmp(key, prefix) == 0;
    return strncmp(key, prefix, strlen(prefix)) == 0 &&
           common_size(key, strlen(prefix), delimiter) == 0;
}

/* Lists uploads in the order in which they were begun, not in the order of their keys. The marker
 * is the id of an upload. */
void fake_s3_list_uploads(struct fake_s3 *s3, const struct fake_request *r, const char *bucket,
                          struct fake_answer *a)
{
    char *prefix = fake_s3_parameter(r, "prefix"), *delimiter = fake_s3_parameter(r, "delimiter");
    char *marker = fake_s3_parameter(r, "upload-id-marker");
    const size_t skip = strlen(bucket) + 1;
    const struct fake_upload *last = NULL;
    bool begun = marker == NULL, more = false;
    unsigned count = 0;

    fake_answer_body(a, "<ListMultipartUploadsResult>");
    for (const struct fake_upload *u = s3->uploads; u != NULL && !more; u = u->next) {
        const bool is_marker = marker != NULL && strcmp(u->id, marker) == 0;

        if (begun && !is_marker && strncmp(u->path, bucket, skip - 1) == 0 &&
            u->path[skip - 1] == '/' && is_listed(s3, u->path + skip, prefix, delimiter)) {
            more = count++ == s3->page;
            if (!more) {
                fake_answer_body(a, "<Upload><Key>");
                append_escaped(a, u->path + skip);
                fake_answer_body(a, "</Key><UploadId>%s</UploadId></Upload>", u->id);
                last = u;
            }
        }
        begun |= is_marker;
    }
    if (more) {
        fake_answer_body(a, "<NextKeyMarker>");
        append_escaped(a, last->path + skip);
        fake_answer_body(a, "</NextKeyMarker><NextUploadIdMarker>%s</NextUploadIdMarker>",
                         last->id);
    }
    fake_answer_body(a, "<IsTruncated>%s</IsTruncated></ListMultipartUploadsResult>",
                     more ? "true" : "false");
    free(delimiter);
    free(prefix);
    free(marker);
}
