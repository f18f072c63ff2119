/* SPDX-License-Identifier: MIT
 *
 * The shared configuration files, and the settings that come from them and the environment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/s3/s3_config.h"
#include "store/store.h"

static struct sheaf_error error;
static char config_path[] = "/tmp/sheaf-config-XXXXXX";

static int parse(struct profiles *profiles, enum profile_file file, const char *text)
{
    char *copy = strdup(text);
    const int code = profiles_parse(profiles, file, "FILE", copy, &error);

    free(copy);
    return code;
}

static void test_config(void **state)
{
    struct profiles p = { 0 };

    (void)state;
    assert_int_equal(parse(&p, PROFILE_CONFIG,
        "# comment\n; another\n\n[default]\nregion=us-east-1\n\n[profile  train ] # here\r\n"
        "region = eu-west-1 # there\r\nrole_arn=arn:aws:iam::1:role/x#y\ns3 =\n"
        "  addressing_style = path\n\tendpoint_url=http://x\noutput = json\n"
        "  indented = of nothing\n[services minio]\ns3 =\n  endpoint_url = http://m:9000\n"
        "[profile train]\nregion = second\nempty =\n"), SHEAF_OK);
    assert_string_equal(profiles_get(&p, "default", "region"), "us-east-1");
    assert_string_equal(profiles_get(&p, "train", "region"), "eu-west-1");
    assert_string_equal(profiles_get(&p, "train", "role_arn"), "arn:aws:iam::1:role/x#y");
    assert_string_equal(profiles_get(&p, "train", "s3.addressing_style"), "path");
    assert_string_equal(profiles_get(&p, "train", "s3.endpoint_url"), "http://x");
    assert_null(profiles_get(&p, "train", "addressing_style"));
    assert_null(profiles_get(&p, "train", "output.indented"));
    assert_string_equal(profiles_get(&p, "train", "empty"), "");
    assert_string_equal(profiles_section_get(&p, "services minio", "s3.endpoint_url"),
                        "http://m:9000");
    assert_true(profiles_has(&p, "train"));
    assert_false(profiles_has(&p, "minio"));
    assert_null(profiles_get(&p, "other", "region"));
    profiles_free(&p);
}

/* Sections are names as they are in credentials; what is there wins. */
static void test_credentials_file(void **state)
{
    struct profiles p = { 0 };

    (void)state;
    assert_int_equal(parse(&p, PROFILE_CREDENTIALS, "[train]\naws_access_key_id = A\n"
                           "aws_secret_access_key = b+/=c\nregion = first"), SHEAF_OK);
    assert_int_equal(parse(&p, PROFILE_CONFIG, "[profile train]\nregion = second\n"
                           "[train]\nregion = third\n"), SHEAF_OK);
    assert_string_equal(profiles_get(&p, "train", "aws_secret_access_key"), "b+/=c");
    assert_string_equal(profiles_get(&p, "train", "region"), "first");
    profiles_free(&p);
}

static void test_bad_files(void **state)
{
    struct profiles p = { 0 };

    (void)state;
    assert_int_equal(parse(&p, PROFILE_CREDENTIALS, "[a]\nx=1\n[train\n"), SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(error.message, "FILE: line 3"));
    assert_int_equal(parse(&p, PROFILE_CREDENTIALS, "[a]\nmy-secret\n"), SHEAF_ERR_CORRUPT);
    assert_null(strstr(error.message, "my-secret"));
    profiles_free(&p);
}

/* ---- Settings -------------------------------------------------------------------------------- */

static void clear(void)
{
    static const char *const names[] = {
        "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION",
        "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_STS", "AWS_CA_BUNDLE",
        "AWS_NO_SIGN_REQUEST", "AWS_REQUEST_CHECKSUM_CALCULATION", "SHEAF_S3_ADDRESSING",
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
    setenv("AWS_CONFIG_FILE", "/nonexistent", 1);
    setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1);
}

static void test_defaults(void **state)
{
    struct s3_config c;
    struct url url;

    (void)state;
    clear();
    assert_int_equal(s3_config_load(&c, &error), SHEAF_OK);
    assert_string_equal(c.region, "us-east-1");
    assert_string_equal(c.profile, "default");
    assert_null(c.endpoint.host);
    assert_int_equal(c.style, S3_STYLE_AUTO);
    assert_true(c.checksums);
    assert_false(c.anonymous);
    assert_null(c.ca_file);
    assert_int_equal(s3_config_service_url(&c, "sts", &url, &error), SHEAF_OK);
    assert_string_equal(url.host, "sts.us-east-1.amazonaws.com");
    url_free(&url);
    s3_config_free(&c);
    setenv("AWS_REGION", "cn-north-1", 1);
    assert_int_equal(s3_config_load(&c, &error), SHEAF_OK);
    assert_int_equal(s3_config_service_url(&c, "sts", &url, &error), SHEAF_OK);
    assert_string_equal(url.host, "sts.cn-north-1.amazonaws.com.cn");
    url_free(&url);
    s3_config_free(&c);
}

static void test_profile_settings(void **state)
{
    static const char text[] = "[profile p]\nregion = eu-west-1\nendpoint_url = http://all\n"
        "ca_bundle = /ca\nservices = here\nrequest_checksum_calculation = WHEN_SUPPORTED\n"
        "s3 =\n  addressing_style = virtual\n[services here]\ns3 =\n  endpoint_url = http://s:1\n";
    struct s3_config c;
    struct url url;

    (void)state;
    clear();
    assert_int_equal(store_put(config_path, text, strlen(text), &error), SHEAF_OK);
    setenv("AWS_CONFIG_FILE", config_path, 1);
    setenv("AWS_PROFILE", "p", 1);
    assert_int_equal(s3_config_load(&c, &error), SHEAF_OK);
    assert_string_equal(c.region, "eu-west-1");
    assert_string_equal(c.endpoint.host, "s");
    assert_int_equal(c.style, S3_STYLE_VIRTUAL);
    assert_true(c.checksums);
    assert_string_equal(c.ca_file, "/ca");
    assert_int_equal(s3_config_service_url(&c, "sts", &url, &error), SHEAF_OK);
    assert_string_equal(url.host, "all");
    url_free(&url);
    s3_config_free(&c);

    /* The environment wins. */
    setenv("AWS_REGION", "here", 1);
    setenv("AWS_ENDPOINT_URL_S3", "https://mine:9000", 1);
    setenv("AWS_ENDPOINT_URL", "http://other", 1);
    setenv("SHEAF_S3_ADDRESSING", "path", 1);
    setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "when_required", 1);
    setenv("AWS_CA_BUNDLE", "/mine", 1);
    setenv("AWS_NO_SIGN_REQUEST", "YES", 1);
    assert_int_equal(s3_config_load(&c, &error), SHEAF_OK);
    assert_string_equal(c.region, "here");
    assert_string_equal(c.endpoint.host, "mine");
    assert_true(c.endpoint.tls);
    assert_int_equal(c.style, S3_STYLE_PATH);
    assert_false(c.checksums);
    assert_string_equal(c.ca_file, "/mine");
    assert_true(c.anonymous);
    assert_int_equal(s3_config_service_url(&c, "sts", &url, &error), SHEAF_OK);
    assert_string_equal(url.host, "other");
    url_free(&url);
    s3_config_free(&c);
    setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true", 1);
    assert_int_equal(s3_config_load(&c, &error), SHEAF_OK);
    assert_null(c.endpoint.host);
    s3_config_free(&c);
}

static void must_refuse(const char *variable, const char *value, const char *text)
{
    struct s3_config c;

    clear();
    setenv(variable, value, 1);
    if (s3_config_load(&c, &error) != SHEAF_ERR_ARGUMENT || strstr(error.message, text) == NULL)
        fail_msg("%s=%s: %s", variable, value, error.message);
}

static void test_bad_settings(void **state)
{
    (void)state;
    must_refuse("AWS_PROFILE", "nobody", "no profile \"nobody\"");
    must_refuse("AWS_REGION", "us east", "region \"us east\"");
    must_refuse("AWS_REGION", "a/b", "region");
    must_refuse("AWS_ENDPOINT_URL", "localhost:9000", "must begin with http");
    must_refuse("AWS_ENDPOINT_URL_S3", "http://x/path", "may not have a path");
    must_refuse("SHEAF_S3_ADDRESSING", "dns", "one of auto, path, virtual");
    must_refuse("AWS_REQUEST_CHECKSUM_CALCULATION", "no", "neither when_supported");
    clear();
}

static int make_file(void **state)
{
    const int fd = mkstemp(config_path);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(config_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config),
        cmocka_unit_test(test_credentials_file),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_profile_settings),
        cmocka_unit_test(test_bad_settings),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
