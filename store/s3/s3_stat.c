/* SPDX-License-Identifier: MIT
 *
 * Requests the size and stamp of an object asynchronously. The stamp is a number that is different
 * if the object was replaced. The request is a GET of the first byte and not a HEAD. If the server
 * refuses the GET, its response has a text with the reason. A response to a HEAD has no text. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/etag.h"
#include "store/remote_read.h"
#include "store/s3/s3.h"
#include "store/s3/s3_ops.h"

struct stat_asking {
    struct request request;
    struct store_stat *stat;
    char byte;
};

static void keep_identity(struct store_stat *stat, const char *etag, const char *modified)
{
    const time_t seconds = modified == NULL ? -1 : curl_getdate(modified, NULL);

    stat->stamp = etag_stamp(etag);
    stat->modified_s = seconds < 0 ? 0 : (int64_t)seconds;
    if (etag == NULL || strlen(etag) >= sizeof(stat->etag))
        stat->etag[0] = '\0';
    else
        memcpy(stat->etag, etag, strlen(etag) + 1);
}

static void keep_note(char note[STORE_NOTE_SIZE], const char *found)
{
    snprintf(note, STORE_NOTE_SIZE, "%s", found == NULL ? "" : found);
}

static int s3_stat_classify(struct request *r, bool *again, struct sheaf_error *err)
{
    struct store_stat *stat = ((struct stat_asking *)r)->stat;
    keep_identity(stat, http_answer_header(&r->http, "etag"),
                  http_answer_header(&r->http, "last-modified"));
    if (stat->note != NULL)
        keep_note(stat->note, http_answer_header(&r->http, S3_NOTE));
    if (remote_find_size(r, &stat->bytes))
        return SHEAF_OK;
    if (r->http.failure == HTTP_ANSWERED && r->http.status / 100 == 2) {
        *again = true;      /* damage on the way */
        return err_set(err, SHEAF_ERR_CORRUPT, "%s: the response has no size", r->what);
    }
    return aws_classify(r, again, err);
}

static void s3_stat_done(struct request *r)
{
    struct stat_asking *a = (struct stat_asking *)r;
    struct store_stat *stat = a->stat;

    stat->code = r->code;
    if (r->code != SHEAF_OK)
        stat->error = r->error;
    request_free(r);
    free(a);
    stat->done(stat);
}

static int s3_stat_prepare(struct stat_asking *a, struct sheaf_error *err)
{
    const struct s3_bucket *bucket;
    char *key;
    int code = s3_locate(a->stat->url, &bucket, &key, err);

    if (code != SHEAF_OK)
        return code;
    if (*key == '\0') {
        free(key);
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: is a bucket, not an object", a->stat->url);
    }
    code = s3_request_init(&a->request, bucket, HTTP_GET, key, NULL, 0, "opening", err);
    free(key);
    if (code == SHEAF_OK)
        code = request_set_header(&a->request, "range", "bytes=0-0", err);
    if (code != SHEAF_OK)
        request_free(&a->request);
    return code;
}

void s3_stat_start(struct store_stat *stat)
{
    struct stat_asking *a = calloc(1, sizeof(*a));

    if (a != NULL)
        a->stat = stat;
    stat->code = a == NULL ? err_memory(&stat->error, sizeof(*a)) : s3_stat_prepare(a,
                                                                                    &stat->error);
    if (stat->code != SHEAF_OK) {
        free(a);
        stat->done(stat);
        return;
    }
    a->request.http.into = &a->byte;
    a->request.http.into_size = 1;
    a->request.classify = s3_stat_classify;
    a->request.done = s3_stat_done;
    request_start(&a->request);
}
