/* SPDX-License-Identifier: MIT
 *
 * Tests the settings of S3 requests: valid values, where settings apply, and which request has
 * which header. Also tests checksums that are computed from those of parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/crc64.h"
#include "base/error.h"
#include "store/s3/s3_checksum.h"
#include "store/s3/s3_scope.h"

static struct sheaf_error error;

static const struct s3_settings none;
static struct s3_settings made;         /* the settings that a test has made last */

static int make(const struct s3_settings *base, const char *const *texts)
{
    struct s3_settings s;
    const int code = s3_settings_with(base, texts, &s, &error);

    s3_settings_free(&made);
    made = s;
    return code;
}

static const char *value(enum s3_setting which, const char *first, const char *second)
{
    const char *texts[] = { first, second, NULL };

    if (make(&none, texts) != SHEAF_OK)
        fail_msg("%s: %s", first, error.message);
    return made.values[which];
}

static void refuse(const char *text, const char *message)
{
    const char *texts[] = { "acl=private", text, NULL };

    assert_int_equal(make(&none, texts), SHEAF_ERR_ARGUMENT);
    if (strstr(error.message, message) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", message, error.message);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static void every_setting_is_told(void **state)
{
    const char *values, *header, *name;
    size_t count = 0;

    (void)state;
    for (; (name = sheaf_s3_setting(count, &values, &header)) != NULL; count++) {
        assert_non_null(values);
        assert_non_null(header);
    }
    assert_int_equal(count, S3_SETTINGS);
    assert_string_equal(sheaf_s3_setting(S3_ACL, NULL, NULL), "acl");
    assert_null(sheaf_s3_setting(SIZE_MAX, &values, &header));
}

static void values_are_taken(void **state)
{
    static const char kms[] = "encryption=aws:kms";

    (void)state;
    assert_string_equal(value(S3_ENCRYPTION, kms, NULL), "aws:kms");
    assert_string_equal(value(S3_ENCRYPTION, "encryption=aws:kms:dsse", NULL), "aws:kms:dsse");
    assert_string_equal(value(S3_KMS_KEY, kms, "kms-key=arn:aws:kms:eu-west-1:111122223333:key/1"),
                        "arn:aws:kms:eu-west-1:111122223333:key/1");
    assert_string_equal(value(S3_BUCKET_KEY, kms, "bucket-key=true"), "true");
    assert_string_equal(value(S3_ENCRYPTION_CONTEXT, kms,
                              "encryption-context={ \"b\" : \"2\",\"a\":\"1\"}"),
                        "eyJhIjoiMSIsImIiOiIyIn0=");
    assert_string_equal(value(S3_STORAGE_CLASS, "storage-class=GLACIER_IR", NULL), "GLACIER_IR");
    assert_string_equal(value(S3_ACL, "acl=bucket-owner-full-control", NULL),
                        "bucket-owner-full-control");
    assert_string_equal(value(S3_TAGS, "tags=a=b&c=&d=%20", NULL), "a=b&c=&d=%20");
    assert_string_equal(value(S3_OWNER, "owner=012345678901", NULL), "012345678901");
    assert_string_equal(value(S3_REQUESTER_PAYS, "requester-pays=true", NULL), "requester");
    assert_null(value(S3_REQUESTER_PAYS, "requester-pays=false", NULL));
    assert_string_equal(value(S3_CHECKSUM, "checksum=crc32c", NULL), "crc32c");
}

static void others_are_refused_by_name(void **state)
{
    (void)state;
    refuse("storageclass=STANDARD", "invalid S3 setting \"storageclass\": expected one of "
           "encryption, kms-key, bucket-key, encryption-context, storage-class, acl, tags, owner, "
           "requester-pays, checksum, content-md5");
    refuse("", "invalid S3 setting \"\"");
    refuse("acl", "expected acl=VALUE");
    refuse("acl=public", "invalid S3 setting acl \"public\": expected bucket-owner-full-control|");
    refuse("encryption=AES", "expected AES256|aws:kms|aws:kms:dsse");
    refuse("encryption=aes256", "invalid S3 setting encryption \"aes256\"");
    refuse("encryption=AES256|aws:kms", "invalid");
    refuse("storage-class=STANDARD_I", "invalid");
    refuse("storage-class=DEEP_ARCHIVE", "cannot be read before they are restored");
    refuse("tags==b", "invalid");
    refuse("tags=a=b&", "invalid");
    refuse("tags=a=b&&c=d", "invalid");
    refuse("tags=a b=c", "invalid");
    refuse("tags=a=b\r\nx-evil: 1", "invalid");
    refuse("tags=1&2&3&4&5&6&7&8&9&10&11", "up to 10");
    refuse("owner=12345678901", "12 digits");
    refuse("owner=12345678901x", "12 digits");
    refuse("requester-pays=yes", "true|false");
    refuse("checksum=crc32", "crc64nvme|crc32c|none");
    refuse("kms-key=a b", "invalid");
    refuse("kms-key=k", "expected encryption=aws:kms");
    refuse("encryption-context=[1]", "a JSON object of strings");
    refuse("encryption-context={\"a\":1}", "a JSON object of strings");
    refuse("encryption-context={\"a\":\"1\",\"a\":\"2\"}", "a JSON object of strings");
}

static void some_need_others(void **state)
{
    static const char *const dsse[] = { "encryption=aws:kms:dsse", "bucket-key=true", NULL };
    static const char *const plain[] = { "encryption=AES256", "kms-key=k", NULL };

    (void)state;
    assert_int_equal(make(&none, dsse), SHEAF_ERR_ARGUMENT);
    assert_int_equal(make(&none, plain), SHEAF_ERR_ARGUMENT);
}

static void the_last_of_a_name_counts(void **state)
{
    static const char *const other[] = { "acl=", "owner=000000000001", NULL };
    struct s3_settings base;

    (void)state;
    assert_string_equal(value(S3_ACL, "acl=private", "acl=public-read"), "public-read");
    base = made;
    memset(&made, 0, sizeof(made));
    assert_int_equal(make(&base, other), SHEAF_OK);
    assert_null(made.values[S3_ACL]);
    assert_string_equal(made.values[S3_OWNER], "000000000001");
    assert_false(s3_settings_are_same(&base, &made));
    s3_settings_free(&base);
}

static int take_environment(void)
{
    s3_settings_free(&made);
    return s3_settings_of_environment(&made, &error);
}

static void the_environment_has_them(void **state)
{
    (void)state;
    setenv("SHEAF_S3_STORAGE_CLASS", "STANDARD_IA", 1);
    setenv("SHEAF_S3_ACL", "", 1);
    setenv("SHEAF_S3_ADDRESSING", "path", 1);
    assert_int_equal(take_environment(), SHEAF_OK);
    assert_string_equal(made.values[S3_STORAGE_CLASS], "STANDARD_IA");
    assert_null(made.values[S3_ACL]);
    setenv("SHEAF_S3_ACL", "mine", 1);
    assert_int_equal(take_environment(), SHEAF_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "SHEAF_S3_ACL: invalid S3 setting acl \"mine\""));
    unsetenv("SHEAF_S3_ACL");
    setenv("SHEAF_S3_STORAGECLASS", "STANDARD_IA", 1);
    assert_int_equal(take_environment(), SHEAF_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "SHEAF_S3_STORAGECLASS: invalid S3 setting"));
    unsetenv("SHEAF_S3_STORAGECLASS");
    unsetenv("SHEAF_S3_STORAGE_CLASS");
    unsetenv("SHEAF_S3_ADDRESSING");
}

/* ---- Scopes ---------------------------------------------------------------------------------- */

static const char *acl_of(struct s3_scopes *scopes, const char *bucket, const char *key)
{
    const char *acl = s3_scope_settings(scopes, bucket, key)->values[S3_ACL];

    return acl != NULL ? acl : "none";
}

/* Tests that the innermost scope applies, and that the first one applies if two cover the same
 * place. */
static void scopes_are_below_their_keys(void **state)
{
    static const char *const outer[] = { "acl=private", NULL }, *const inner[] = {
        "acl=public-read", NULL }, *const late[] = { "acl=bucket-owner-read", NULL };
    struct store_scope *a, *b, *c;
    struct s3_scopes *scopes = NULL;

    (void)state;
    assert_int_equal(s3_scopes_open(&scopes, &error), SHEAF_OK);
    assert_string_equal(acl_of(scopes, "bucket", "a/x"), "none");
    assert_int_equal(s3_scope_begin(scopes, "bucket", "a//", outer, &a, &error), SHEAF_OK);
    assert_int_equal(s3_scope_begin(scopes, "bucket", "a/b", inner, &b, &error), SHEAF_OK);
    assert_int_equal(s3_scope_begin(scopes, "bucket", "a", late, &c, &error), SHEAF_OK);
    assert_string_equal(acl_of(scopes, "bucket", "a"), "private");
    assert_string_equal(acl_of(scopes, "bucket", "a/x"), "private");
    assert_string_equal(acl_of(scopes, "bucket", "ab"), "none");
    assert_string_equal(acl_of(scopes, "other", "a/x"), "none");
    assert_string_equal(acl_of(scopes, "bucket", "a/b"), "public-read");
    assert_string_equal(acl_of(scopes, "bucket", "a/b/"), "public-read");
    s3_scope_end(a);
    assert_string_equal(acl_of(scopes, "bucket", "a/x"), "bucket-owner-read");
    assert_string_equal(acl_of(scopes, "bucket", "a/b/c"), "public-read");
    s3_scope_end(c);
    s3_scope_end(b);
    assert_string_equal(acl_of(scopes, "bucket", "a/b/c"), "none");
    s3_scopes_close(scopes);
}

/* ---- Requests -------------------------------------------------------------------------------- */

static char no_prefix[] = "";
static struct target target = { .service = "s3", .prefix = no_prefix };

static int apply(struct request *r, enum http_method method, const char *query, bool is_express)
{
    const char *const texts[] = { "encryption=AES256", "tags=a=b", "requester-pays=true",
                                  "owner=000000000001", "checksum=crc32c", NULL };

    assert_int_equal(make(&none, texts), SHEAF_OK);
    assert_int_equal(request_init(r, &target, method, strdup("/key"),
                                  query != NULL ? strdup(query) : NULL, strdup("doing"), &error),
                     SHEAF_OK);
    return s3_settings_apply(&made, r, is_express, &error);
}

static const char *header(const struct request *r, const char *name)
{
    for (size_t i = 0; i < r->header_count; i++)
        if (strcmp(r->headers[i].name, name) == 0)
            return r->headers[i].value;
    return "none";
}

static void requests_have_what_is_theirs(void **state)
{
    static const struct { enum http_method method; const char *query; bool makes; } cases[] = {
        { HTTP_PUT, NULL, true }, { HTTP_POST, "uploads=", true },
        { HTTP_PUT, "partNumber=1&uploadId=u", false }, { HTTP_POST, "uploadId=u", false },
        { HTTP_GET, NULL, false }, { HTTP_HEAD, NULL, false }, { HTTP_DELETE, NULL, false },
        { HTTP_GET, "list-type=2&prefix=", false }, { HTTP_GET, "uploads=", false },
        { HTTP_DELETE, "uploadId=u", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct request r;

        assert_int_equal(apply(&r, cases[i].method, cases[i].query, false), SHEAF_OK);
        assert_string_equal(header(&r, "x-amz-request-payer"), "requester");
        assert_string_equal(header(&r, "x-amz-expected-bucket-owner"), "000000000001");
        assert_string_equal(header(&r, "x-amz-server-side-encryption"),
                            cases[i].makes ? "AES256" : "none");
        assert_string_equal(header(&r, "x-amz-tagging"), cases[i].makes ? "a=b" : "none");
        assert_int_equal(r.header_count, cases[i].makes ? 4 : 2);
        request_free(&r);
    }
}

static void directory_buckets_do_not_take_all(void **state)
{
    struct request r;

    (void)state;
    assert_int_equal(apply(&r, HTTP_PUT, NULL, true), SHEAF_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "encryption: directory buckets do not take it"));
    request_free(&r);
    assert_int_equal(apply(&r, HTTP_GET, NULL, true), SHEAF_OK);
    assert_int_equal(r.header_count, 1);
    request_free(&r);
}

static const char *explain(enum http_method method, const char *query, const char *code)
{
    struct request r;

    assert_int_equal(request_init(&r, &target, method, strdup("/key"),
                                  query != NULL ? strdup(query) : NULL, strdup("doing"), &error),
                     SHEAF_OK);
    assert_int_equal(request_set_header(&r, "x-amz-acl", "private", &error), SHEAF_OK);
    assert_int_equal(request_set_header(&r, "x-amz-checksum-algorithm", "CRC32C", &error),
                     SHEAF_OK);
    err_set(&error, SHEAF_ERR_ACCESS, "no");
    s3_settings_explain(&r, code, &error);
    request_free(&r);
    return error.message;
}

static void refusals_are_explained(void **state)
{
    (void)state;
    assert_string_equal(explain(HTTP_PUT, NULL, "AccessDenied"), "no; the bucket's policy may "
                        "demand headers that were not sent: x-amz-server-side-encryption, "
                        "x-amz-server-side-encryption-aws-kms-key-id, x-amz-storage-class, "
                        "x-amz-tagging");
    assert_int_equal(error.reason, SHEAF_REASON_BUCKET_POLICY);
    assert_non_null(strstr(explain(HTTP_POST, "uploads=", "InvalidRequest"), "x-amz-tagging"));
    assert_string_equal(explain(HTTP_PUT, NULL, "NoSuchBucket"), "no");
    assert_string_equal(explain(HTTP_PUT, "partNumber=1&uploadId=u", "InvalidRequest"), "no");
    assert_non_null(strstr(explain(HTTP_GET, NULL, "AccessDenied"),
                           "SHEAF_S3_REQUESTER_PAYS=true"));
    target.service = "sts";
    assert_string_equal(explain(HTTP_PUT, NULL, "AccessDenied"), "no");
    target.service = "s3";
}

/* ---- Checksums ------------------------------------------------------------------------------- */

static uint64_t whole_of(const struct s3_checksum *kind, const uint8_t *data, size_t size,
                         size_t step)
{
    uint64_t crc = 0;

    for (size_t at = 0; at < size; at += step)
        crc = s3_checksum_add(kind, crc, kind->of(data + at, MIN(step, size - at)),
                              MIN(step, size - at));
    return crc;
}

static void parts_make_the_whole(void **state)
{
    uint8_t data[1000];
    char text[S3_CRC_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 7 + i / 251);
    for (size_t step = 1; step <= sizeof(data); step += 13) {
        assert_true(whole_of(&s3_crc64nvme, data, sizeof(data), step) ==
                    crc64_nvme(0, data, sizeof(data)));
        assert_true(whole_of(&s3_crc32c, data, sizeof(data), step) ==
                    crc32c(0, data, sizeof(data)));
    }
    s3_checksum_text(&s3_crc64nvme, s3_crc64nvme.of("123456789", 9), text);
    assert_string_equal(text, "rosUhgp5mIg=");
    s3_checksum_text(&s3_crc32c, s3_crc32c.of("123456789", 9), text);
    assert_string_equal(text, "4waSgw==");
    assert_ptr_equal(s3_checksum_of("crc64nvme"), &s3_crc64nvme);
    assert_null(s3_checksum_of("none"));
}

/* Tests the checksum of the checksums of two parts. */
static void checksums_have_a_checksum(void **state)
{
    const uint8_t both[] = { 0xe3, 0x06, 0x92, 0x83, 0, 0, 0, 0 };
    uint64_t nested = s3_checksum_nest(&s3_crc32c, 0, 0xe3069283u);

    (void)state;
    nested = s3_checksum_nest(&s3_crc32c, nested, 0);
    assert_true(nested == crc32c(0, both, sizeof(both)));
}

static int forget(void **state)
{
    (void)state;
    s3_settings_free(&made);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_setting_is_told),
        cmocka_unit_test(values_are_taken),
        cmocka_unit_test(others_are_refused_by_name),
        cmocka_unit_test(some_need_others),
        cmocka_unit_test(the_last_of_a_name_counts),
        cmocka_unit_test(the_environment_has_them),
        cmocka_unit_test(scopes_are_below_their_keys),
        cmocka_unit_test(requests_have_what_is_theirs),
        cmocka_unit_test(directory_buckets_do_not_take_all),
        cmocka_unit_test(refusals_are_explained),
        cmocka_unit_test(parts_make_the_whole),
        cmocka_unit_test(checksums_have_a_checksum),
    };

    return cmocka_run_group_tests(tests, NULL, forget);
}
