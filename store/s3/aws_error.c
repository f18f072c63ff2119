/* SPDX-License-Identifier: MIT
 *
 * Interprets the errors of AWS services by a table of their error codes. A response without an
 * error code, for example the response to a HEAD, is interpreted by its HTTP status only. */
#include "store/s3/aws_error.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/s3/credentials.h"
#include "store/s3/s3_settings.h"
#include "store/s3/s3_xml.h"

struct known_error {
    const char *code;
    int ours;
    bool again;
    const char *advice;         /* follows the service's own words; "" for none */
};

static const struct known_error known[] = {
    { "AccessDenied", SHEAF_ERR_ACCESS, false,
      "these credentials may not do this here" },
    { "InvalidAccessKeyId", SHEAF_ERR_ACCESS, false,
      "the service does not know this access key: check the credentials and the endpoint" },
    { "InvalidClientTokenId", SHEAF_ERR_ACCESS, false,
      "the service does not know this access key: check the credentials and the endpoint" },
    { "InvalidToken", SHEAF_ERR_ACCESS, false,
      "the session token does not belong to the access key: check AWS_SESSION_TOKEN" },
    { "SignatureDoesNotMatch", SHEAF_ERR_ACCESS, false, "check the secret access key" },
    { "RequestTimeTooSkewed", SHEAF_ERR_ACCESS, false, "set this machine's clock" },
    { "RequestExpired", SHEAF_ERR_ACCESS, false, "set this machine's clock" },
    { "AccountProblem", SHEAF_ERR_ACCESS, false, "" },
    { "AllAccessDisabled", SHEAF_ERR_ACCESS, false, "" },
    { "InvalidObjectState", SHEAF_ERR_ACCESS, false,
      "the object is archived: restore it first" },
    { "NoSuchBucket", SHEAF_ERR_NOT_FOUND, false,
      "check the bucket's name, the region and the endpoint" },
    { "NoSuchKey", SHEAF_ERR_NOT_FOUND, false, "no object has this name" },
    { "NoSuchUpload", SHEAF_ERR_NOT_FOUND, false, "" },
    { "PreconditionFailed", SHEAF_ERR_CHANGED, false, "" },
    { "InvalidRange", SHEAF_ERR_TRUNCATED, false, "" },
    { "BadDigest", SHEAF_ERR_CORRUPT, true, "" },
    { "InvalidDigest", SHEAF_ERR_CORRUPT, true, "" },       /* so Garage */
    { "InvalidChecksum", SHEAF_ERR_CORRUPT, true, "" },
    { "ChecksumMismatch", SHEAF_ERR_CORRUPT, true, "" },
    { "ContentSHA256Mismatch", SHEAF_ERR_CORRUPT, true, "" },
    { "XAmzContentSHA256Mismatch", SHEAF_ERR_CORRUPT, true, "" },
    { "XAmzContentChecksumMismatch", SHEAF_ERR_CORRUPT, true, "" },
    { "IncompleteBody", SHEAF_ERR_NETWORK, true, "" },
    { "RequestTimeout", SHEAF_ERR_NETWORK, true, "" },
    { "InternalError", SHEAF_ERR_NETWORK, true, "" },
    { "InternalFailure", SHEAF_ERR_NETWORK, true, "" },
    { "ServiceUnavailable", SHEAF_ERR_NETWORK, true, "" },
    { "SlowDown", SHEAF_ERR_NETWORK, true, "" },
    { "Throttling", SHEAF_ERR_NETWORK, true, "" },
    { "ThrottlingException", SHEAF_ERR_NETWORK, true, "" },
    { "RequestLimitExceeded", SHEAF_ERR_NETWORK, true, "" },
    { "BandwidthLimitExceeded", SHEAF_ERR_NETWORK, true, "" },
    { "IDPCommunicationError", SHEAF_ERR_NETWORK, true, "" },
    { "OperationAborted", SHEAF_ERR_NETWORK, true, "" },
    { "ConditionalRequestConflict", SHEAF_ERR_NETWORK, true, "" },
    { "TemporaryRedirect", SHEAF_ERR_NETWORK, true, "" },
    { "NotImplemented", SHEAF_ERR_UNSUPPORTED, false, "" },
    { "MethodNotAllowed", SHEAF_ERR_UNSUPPORTED, false, "" },
    { "EntityTooLarge", SHEAF_ERR_LIMIT, false, "" },
    { "QuotaExceeded", SHEAF_ERR_LIMIT, false, "" },
    { "KeyTooLongError", SHEAF_ERR_LIMIT, false, "" },
};

static const char *const wrong_region[] = {
    "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException",
};

static const char *const expired[] = {
    "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired",
};

static bool is_one_of(const char *code, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(code, list[i]) == 0)
            return true;
    return false;
}

/* Replaces line ends and other control characters by spaces. */
static void make_line(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = ' ';
}

/* Handles an error that says that the bucket is in another region. If the response names the
 * region, later attempts go there. Otherwise the request fails, and the message says why. */
static int region_error(struct request *r, const struct s3_xml_error *e, bool *again,
                        struct sheaf_error *err)
{
    const char *region = http_answer_header(&r->http, "x-amz-bucket-region");

    if (region == NULL && e->region[0] != '\0')
        region = e->region;
    if (region == NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: the bucket is in another region or at "
                       "another endpoint than %s, %s: %s", r->what,
                       r->at->region != NULL ? r->at->region : "this one",
                       r->at->origin, e->message);
    if (r->at->region != NULL && strcmp(region, r->at->region) == 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: the bucket is at another endpoint of region "
                       "%.40s than %s: %s", r->what, region, r->at->origin, e->message);
    *again = request_follow(r, region);
    return err_set(err, SHEAF_ERR_ARGUMENT, "%s: the bucket is in region %.40s, not %s: set "
                   "AWS_REGION=%.40s", r->what, region,
                   r->at->region != NULL ? r->at->region : "this one", region);
}

/* Returns whether the status and the headers of a response show that the bucket may be in another
 * region. This is needed for the response to a HEAD, which has no text. */
static bool may_be_elsewhere(const struct request *r)
{
    const char *region = http_answer_header(&r->http, "x-amz-bucket-region");

    return r->http.status == 301 || r->http.status == 307 ||
           (r->http.status == 400 && region != NULL && r->at->region != NULL &&
            strcmp(region, r->at->region) != 0);
}

static int expired_error(const struct request *r, const struct s3_xml_error *e, bool *again,
                         struct sheaf_error *err)
{
    *again = r->credentials != NULL && credentials_reject(r->target->credentials, r->credentials);
    return err_set(err, SHEAF_ERR_ACCESS, "%s: the credentials have expired (%s): %s", r->what,
                   e->code, *again ? "and no newer ones are available" : "get new ones");
}

static int skew_error(const struct request *r, const struct s3_xml_error *e,
                      struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_ACCESS, "%s: this machine's clock is wrong: the request was "
                   "dated %s, the server has %s: set the clock", r->what,
                   e->request_time[0] != '\0' ? e->request_time : "otherwise", e->server_time);
}

static int known_error(const struct request *r, const struct s3_xml_error *e, bool *again,
                       struct sheaf_error *err)
{
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        const struct known_error *k = &known[i];
        const char *advice = k->advice;

        if (strcmp(e->code, k->code) != 0)
            continue;
        if (strcmp(e->code, "AccessDenied") == 0 && r->credentials == NULL)
            advice = "the request was not signed";
        *again = k->again;
        return err_set(err, k->ours, "%s: %s%s%s%s%s", r->what, e->code,
                       e->message[0] != '\0' ? ": " : "", e->message,
                       advice[0] != '\0' ? ": " : "", advice);
    }
    *again = http_status_may_pass(r->http.status);
    (void)http_error(&r->http, r->what, err);
    err_append(err, ": %s%s%s", e->code, e->message[0] != '\0' ? ": " : "", e->message);
    return err != NULL ? err->code : SHEAF_ERR_NETWORK;
}

/* Parses the text of a response as an <Error>. Returns false if the text is not an <Error>. Even a
 * response with a success status may be an <Error>, for example the response to
 * CompleteMultipartUpload. */
static bool get_error(const struct request *r, struct s3_xml_error *e)
{
    const struct buf *text = &r->http.reply;

    return text->size != 0 && memmem(text->data, text->size, "<Error", 6) != NULL &&
           s3_xml_error(text->data, text->size, e) == SHEAF_OK;
}

/* Classifies a response without an <Error>. AWS services send the header x-amz-request-id with each
 * response. If a response through a proxy lacks this header, the response probably comes from the
 * proxy. If such a response is a refusal, it becomes an error of the network, because it says
 * nothing about the object. */
static int plain_error(struct request *r, bool *again, struct sheaf_error *err)
{
    const char *server = http_answer_header(&r->http, "server");
    int code = request_classify_http(r, again, err);

    if (code == SHEAF_OK || !r->http.has_proxy || r->http.status == 407 ||
        http_answer_header(&r->http, "x-amz-request-id") != NULL)
        return code;
    err_append(err, "; the response has no x-amz-request-id, so it probably comes from the "
               "proxy%s%.40s%s", server != NULL ? " (Server: " : "", server != NULL ? server : "",
               server != NULL ? ")" : "");
    if (code == SHEAF_ERR_ACCESS)
        code = SHEAF_ERR_NETWORK;
    if (err != NULL)
        err->code = code;
    return code;
}

void aws_error_code(const struct request *r, char code[64])
{
    struct s3_xml_error e;

    code[0] = '\0';
    if (get_error(r, &e))
        snprintf(code, 64, "%s", e.code);
}

int aws_classify(struct request *r, bool *again, struct sheaf_error *err)
{
    const struct http_exchange *x = &r->http;
    struct s3_xml_error e;
    int code;

    if (x->failure != HTTP_ANSWERED)
        return request_classify_http(r, again, err);
    if (!get_error(r, &e)) {
        memset(&e, 0, sizeof(e));
        if (may_be_elsewhere(r))
            return region_error(r, &e, again, err);
        return plain_error(r, again, err);
    }
    make_line(e.code);
    make_line(e.message);
    make_line(e.region);
    if (is_one_of(e.code, wrong_region, COUNT_OF(wrong_region)))
        return region_error(r, &e, again, err);
    if (is_one_of(e.code, expired, COUNT_OF(expired)))
        return expired_error(r, &e, again, err);
    if (strcmp(e.code, "RequestTimeTooSkewed") == 0 && e.server_time[0] != '\0')
        return skew_error(r, &e, err);
    code = known_error(r, &e, again, err);
    s3_settings_explain(r, e.code, err);
    return code;
}
