/* SPDX-License-Identifier: MIT
 *
 * The requirements that a bucket of the fake service has for requests, and the record of
 * requests. */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common_fake_s3.h"

/* Returns whether the request has all of these header lines. `lines` may be NULL. */
static bool has_lines(const struct fake_request *r, const char *lines)
{
    for (; lines != NULL && *lines != '\0'; lines = strchr(lines, '\n') + 1) {
        const size_t size = strcspn(lines, "\n") + 1;
        bool found = false;

        for (const char *at = r->headers; *at != '\0' && !found; at = strchr(at, '\n') + 1)
            found = strncmp(at, lines, size) == 0;
        if (!found)
            return false;
    }
    return true;
}

static bool has_right_md5(const struct fake_request *r, const char *given)
{
    unsigned char digest[16];
    char text[25];

    EVP_Digest(r->body, r->body_size, digest, NULL, EVP_md5(), NULL);
    EVP_EncodeBlock((unsigned char *)text, digest, 16);
    return strcmp(text, given) == 0;
}

bool fake_s3_allows(const struct fake_s3 *s3, const struct fake_request *r, const char *what,
                    struct fake_answer *a)
{
    const bool creates = strcmp(what, "PutObject") == 0 ||
                         strcmp(what, "CreateMultipartUpload") == 0;
    const bool has_bytes = strcmp(what, "PutObject") == 0 || strcmp(what, "UploadPart") == 0;
    char *md5 = fake_header(r, "content-md5");
    struct fake_sums sent;

    fake_sums_sent(r, &sent);
    if (!has_lines(r, s3->every) || (creates && !has_lines(r, s3->new)))
        fake_s3_refuse(a, "AccessDenied", "explicit deny in a resource-based policy", "");
    else if (has_bytes && md5 == NULL &&
             (s3->needs_md5 ||
              (s3->lock && sent.text[0][0] == '\0' && sent.text[1][0] == '\0')))
        fake_s3_refuse(a, "InvalidRequest", "Content-MD5 OR x-amz-checksum- HTTP header is "
                       "required for Put requests with Object Lock parameters", "");
    else if (md5 != NULL && !has_right_md5(r, md5))
        fake_s3_error(a, "BadDigest", "");
    free(md5);
    return a->status == 200;
}

void fake_s3_record(struct fake_s3 *s3, const struct fake_request *r, const char *what,
                    bool refused)
{
    if (s3->records && buf_printf(&s3->requests, NULL, "%s %s %d\n%s\n", what, r->path, refused,
                                  r->headers) != SHEAF_OK)
        s3->records = false;
}
