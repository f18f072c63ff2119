/* SPDX-License-Identifier: MIT
 *
 * The access keys of the fake service: the endpoints that give out keys, and the check of a
 * request's signature. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/s3/credentials.h"
#include "store/s3/sigv4.h"
#include "tests/common_fake_s3.h"

static int64_t now_ms(const struct fake_s3 *s3)
{
    return credentials_now_ms() + s3->clock_ms;
}

static void iso_time(int64_t ms, char text[32])
{
    const time_t seconds = (time_t)(ms / 1000);
    struct tm tm;

    gmtime_r(&seconds, &tm);
    strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

const struct fake_key *fake_aws_new_key(struct fake_s3 *s3, bool has_token)
{
    struct fake_key *key = &s3->keys[s3->key_count % FAKE_KEYS_MOST];
    const unsigned number = s3->key_count++;

    memset(key, 0, sizeof(*key));
    key->expires_ms = INT64_MAX;
    if (!has_token) {
        snprintf(key->access, sizeof(key->access), FAKE_ACCESS);
        snprintf(key->secret, sizeof(key->secret), FAKE_SECRET);
        return key;
    }
    snprintf(key->access, sizeof(key->access), "ASIAFAKE%u", number);
    snprintf(key->secret, sizeof(key->secret), "fake/secret+%u", number);
    snprintf(key->token, sizeof(key->token), "fake/token+%u==", number);
    key->expires_ms = (now_ms(s3) + s3->life_ms) / 1000 * 1000;
    return key;
}

/* ---- Giving them out ------------------------------------------------------------------------- */

static void answer_json(struct fake_s3 *s3, struct fake_answer *a)
{
    const struct fake_key *key = fake_aws_new_key(s3, true);
    char expires[32];

    iso_time(key->expires_ms, expires);
    fake_answer_body(a, "{\"Code\": \"Success\", \"AccessKeyId\": \"%s\", \"SecretAccessKey\": "
                     "\"%s\", \"Token\": \"%s\", \"Expiration\": \"%s\"}", key->access,
                     key->secret, key->token, expires);
}

static void answer_xml(struct fake_s3 *s3, const char *root, struct fake_answer *a)
{
    const struct fake_key *key = fake_aws_new_key(s3, true);
    char expires[32];

    iso_time(key->expires_ms, expires);
    fake_answer_body(a, "<?xml version=\"1.0\"?><%s xmlns=\"https://sts.amazonaws.com/doc/\">"
                     "<Credentials><AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s"
                     "</SecretAccessKey><SessionToken>%s</SessionToken><Expiration>%s</Expiration>"
                     "</Credentials></%s>", root, key->access, key->secret, key->token, expires,
                     root);
}

static bool has(const struct fake_request *r, const char *name, const char *value)
{
    char *is = fake_header(r, name);
    const bool same = is != NULL && strcmp(is, value) == 0;

    free(is);
    return same;
}

static void instance(struct fake_s3 *s3, const struct fake_request *r, struct fake_answer *a)
{
    if (strcmp(r->path, "/latest/api/token") == 0 && strcmp(r->method, "PUT") == 0 &&
        has(r, "x-aws-ec2-metadata-token-ttl-seconds", "21600"))
        fake_answer_body(a, "instance-token");
    else if (!has(r, "x-aws-ec2-metadata-token", "instance-token"))
        a->status = 401;
    else if (strcmp(r->path, "/latest/meta-data/iam/security-credentials/") == 0)
        fake_answer_body(a, "the-role\n");
    else if (strcmp(r->path, "/latest/meta-data/iam/security-credentials/the-role") == 0)
        answer_json(s3, a);
    else
        a->status = 404;
}

/* The portal of single sign-on. It knows one account and one role, and states expiry times in
 * milliseconds. */
static void portal(struct fake_s3 *s3, const struct fake_request *r, struct fake_answer *a)
{
    const struct fake_key *key;

    if (!has(r, "x-amz-sso_bearer_token", "sso-token") ||
        strcmp(r->query, "account_id=123456789012&role_name=Reader") != 0) {
        a->status = 401;
        return;
    }
    key = fake_aws_new_key(s3, true);
    fake_answer_body(a, "{\"roleCredentials\": {\"accessKeyId\": \"%s\", \"secretAccessKey\": "
                     "\"%s\", \"sessionToken\": \"%s\", \"expiration\": %lld}}", key->access,
                     key->secret, key->token, (long long)key->expires_ms);
}

static void sts(struct fake_s3 *s3, const struct fake_request *r, struct fake_answer *a)
{
    free(s3->form);
    s3->form = strndup((const char *)r->body, r->body_size);
    if (strstr(s3->form, "Action=AssumeRoleWithWebIdentity&") != NULL) {
        if (strstr(s3->form, "WebIdentityToken=web-token") != NULL)
            answer_xml(s3, "AssumeRoleWithWebIdentityResult", a);
        else
            fake_s3_error(a, "InvalidIdentityToken", "");
    } else if (fake_aws_check(s3, r, a)) {
        if (strstr(s3->form, "role%2Fforbidden") != NULL)
            fake_s3_error(a, "AccessDenied", "");
        else
            answer_xml(s3, "AssumeRoleResult", a);
    }
}

bool fake_aws_credentials(struct fake_s3 *s3, const struct fake_request *r,
                          struct fake_answer *a)
{
    if (strncmp(r->path, "/latest/", 8) == 0) {
        instance(s3, r, a);
    } else if (strcmp(r->path, "/container") == 0) {
        if (has(r, "authorization", "container-token"))
            answer_json(s3, a);
        else
            a->status = 403;
    } else if (strcmp(r->path, "/federation/credentials") == 0) {
        portal(s3, r, a);
    } else if (strcmp(r->path, "/") == 0 && strcmp(r->method, "POST") == 0) {
        sts(s3, r, a);
    } else if (strcmp(r->query, "session=") == 0) {
        if (fake_aws_check(s3, r, a)) {
            answer_xml(s3, "CreateSessionResult", a);
            s3->keys[(s3->key_count - 1) % FAKE_KEYS_MOST].read_only =
                has(r, "x-amz-create-session-mode", "ReadOnly");
        }
    } else {
        return false;
    }
    return true;
}

/* ---- Checking signatures --------------------------------------------------------------------- */

/* "...Credential=KEY/DATE/REGION/SERVICE/aws4_request, SignedHeaders=a;b, Signature=..." */
struct authorization {
    char access[64], date[16], region[64], service[32], names[1024];
};

static bool parse_authorization(const char *text, struct authorization *out)
{
    return sscanf(text, "AWS4-HMAC-SHA256 Credential=%63[^/]/%15[^/]/%63[^/]/%31[^/]/aws4_request, "
                  "SignedHeaders=%1023[^,], Signature=", out->access, out->date, out->region,
                  out->service, out->names) == 5;
}

static const struct fake_key *find_key(const struct fake_s3 *s3, const char *access)
{
    for (unsigned i = 0; i < s3->key_count && i < FAKE_KEYS_MOST; i++)
        if (strcmp(s3->keys[i].access, access) == 0)
            return &s3->keys[i];
    return NULL;
}

/* Returns whether the signature of the received request is right for the key that the request
 * names. */
static bool is_signed(const struct fake_request *r, const struct authorization *auth,
                      const struct fake_key *key, const char *given)
{
    struct sigv4_pair pairs[SIGV4_HEADERS_MOST];
    struct buf made = BUF_INIT(8192);
    char names[1024], *rest = names, *name;
    char *date = fake_header(r, "x-amz-date"), *hash = fake_header(r, "x-amz-content-sha256");
    const struct sigv4_signer signer = {
        .access_key_id = key->access, .secret_access_key = key->secret, .region = auth->region,
        .service = auth->service, .date = date,
    };
    struct sigv4_request request = { .method = r->method, .path = r->path, .query = r->query,
                                     .headers = pairs, .payload_hash = hash };
    bool same = date != NULL && hash != NULL;

    snprintf(names, sizeof(names), "%s", auth->names);
    while (same && (name = strsep(&rest, ";")) != NULL) {
        char *value = fake_header(r, name);

        same = value != NULL && request.header_count < SIGV4_HEADERS_MOST;
        if (same)
            pairs[request.header_count++] = (struct sigv4_pair){ name, value };
    }
    same = same && sigv4_authorization(&request, &signer, &made, NULL) == SHEAF_OK &&
           made.size == strlen(given) && memcmp(made.data, given, made.size) == 0;
    for (size_t i = 0; i < request.header_count; i++) {
        char *value;

        memcpy(&value, &pairs[i].value, sizeof(value));
        free(value);
    }
    buf_free(&made);
    free(date);
    free(hash);
    return same;
}

static bool has_right_body(const struct fake_request *r)
{
    char hash[SIGV4_HASH_SIZE];

    return sigv4_hash(r->body, r->body_size, hash, NULL) == SHEAF_OK &&
           has(r, "x-amz-content-sha256", hash);
}

static bool has_right_token(const struct fake_request *r, const struct fake_key *key,
                            const struct authorization *auth)
{
    const bool in_session = strcmp(auth->service, "s3express") == 0 &&
                            strcmp(r->query, "session=") != 0;
    const char *name = in_session ? "x-amz-s3session-token" : "x-amz-security-token";
    char *token = fake_header(r, name);
    const bool right = key->token[0] == '\0' ? token == NULL
                                             : token != NULL && strcmp(token, key->token) == 0;

    free(token);
    return right;
}

static bool is_dated_now(const struct fake_s3 *s3, const struct fake_request *r)
{
    char *text = fake_header(r, "x-amz-date");
    struct tm tm = { 0 };
    int64_t ms = 0;

    if (text != NULL && strptime(text, "%Y%m%dT%H%M%SZ", &tm) != NULL)
        ms = (int64_t)timegm(&tm) * 1000;
    free(text);
    return llabs(ms - now_ms(s3)) < 15 * 60 * 1000;
}

bool fake_aws_check(struct fake_s3 *s3, const struct fake_request *r, struct fake_answer *a)
{
    char *given = fake_header(r, "authorization");
    struct authorization auth;
    const struct fake_key *key = NULL;
    char times[128], server_time[32];

    iso_time(now_ms(s3), server_time);
    if (given == NULL && s3->anonymous)
        return true;
    if (s3->any_key) {
        if (given != NULL && !has_right_body(r))
            fake_s3_error(a, "XAmzContentSHA256Mismatch", "");
        free(given);
        return a->status == 200;
    }
    if (given == NULL || !parse_authorization(given, &auth))
        fake_s3_error(a, "AccessDenied", "");
    else if ((key = find_key(s3, auth.access)) == NULL)
        fake_s3_error(a, "InvalidAccessKeyId", "");
    else if (!is_dated_now(s3, r)) {
        snprintf(times, sizeof(times), "<RequestTime>%s</RequestTime><ServerTime>%s</ServerTime>",
                 "long ago", server_time);
        fake_s3_error(a, "RequestTimeTooSkewed", times);
        key = NULL;
    } else if (strcmp(auth.region, "us-east-1") != 0 && strcmp(auth.region, "auto") != 0) {
        fake_s3_error(a, "AuthorizationHeaderMalformed", "<Region>us-east-1</Region>");
        key = NULL;
    } else if (!is_signed(r, &auth, key, given)) {
        fake_s3_error(a, "SignatureDoesNotMatch", "");
        key = NULL;
    } else if (!has_right_body(r)) {
        fake_s3_error(a, "XAmzContentSHA256Mismatch", "");
        key = NULL;
    } else if (!has_right_token(r, key, &auth)) {
        fake_s3_error(a, "InvalidToken", "");
        key = NULL;
    } else if (key->read_only && strcmp(r->method, "GET") != 0 && strcmp(r->method, "HEAD") != 0) {
        fake_s3_error(a, "AccessDenied", "");
        key = NULL;
    } else if (key->expires_ms <= now_ms(s3)) {
        fake_s3_error(a, "ExpiredToken", "");
        key = NULL;
    }
    free(given);
    s3->refused += key == NULL;
    return key != NULL;
}
