/* SPDX-License-Identifier: MIT
 *
 * Tests AWS's shared configuration files, and the settings that come from them and from the
 * environment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/proxy.h"
#include "store/s3/s3_place.h"
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
        "  indented = of nothing\nempty =\n"
        "[services minio]\ns3 =\n  endpoint_url = http://m:9000\n"
        "[profile bare]\n[profile two words]\n[profile 'three short words']\n"), SHEAF_OK);
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
    assert_true(profiles_has(&p, "bare"));
    assert_true(profiles_has(&p, "three short words"));
    assert_false(profiles_has(&p, "two words"));
    assert_false(profiles_has(&p, "minio"));
    assert_null(profiles_get(&p, "other", "region"));
    profiles_free(&p);
}

/* Tests the file `credentials`, in which a section is named like its profile, and which takes
 * precedence. */
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

static void must_not_parse(enum profile_file file, const char *text, const char *message)
{
    struct profiles p = { 0 };

    assert_int_equal(parse(&p, file, text), SHEAF_ERR_CORRUPT);
    if (strstr(error.message, message) == NULL)
        fail_msg("%s: %s", text, error.message);
    profiles_free(&p);
}

static void test_bad_files(void **state)
{
    (void)state;
    must_not_parse(PROFILE_CREDENTIALS, "[a]\nx=1\n[train\n", "FILE: line 3: an unterminated");
    must_not_parse(PROFILE_CREDENTIALS, "[a]\nmy-secret\n", "FILE: line 2: neither a section nor");
    assert_null(strstr(error.message, "my-secret"));
    must_not_parse(PROFILE_CREDENTIALS, "aws_access_key_id = a\n", "before the first section");
    must_not_parse(PROFILE_CREDENTIALS, "[a]\nx=1\n[b]\n[a]\ny=1\n", "line 4: this section is");
    must_not_parse(PROFILE_CONFIG, "[profile a]\n[profile 'a']\n", "line 2: this section is there");
    must_not_parse(PROFILE_CONFIG, "[default]\n[profile default]\n", "line 2: this section is");
    must_not_parse(PROFILE_CONFIG, "[default]\nx=1\n[profile a]\nx=1\nX: 2\n",
                   "line 5: x is there twice in its section");
}

/* ---- Settings -------------------------------------------------------------------------------- */

static void clear(void)
{
    static const char *const names[] = {
        "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION",
        "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_STS", "AWS_CA_BUNDLE",
        "AWS_NO_SIGN_REQUEST", "AWS_REQUEST_CHECKSUM_CALCULATION", "SHEAF_S3_ADDRESSING",
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_USE_FIPS_ENDPOINT",
        "AWS_USE_DUALSTACK_ENDPOINT", "AWS_S3_USE_ARN_REGION", "AWS_RETRY_MODE",
        "AWS_MAX_ATTEMPTS", "AWS_S3_US_EAST_1_REGIONAL_ENDPOINT",
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
    assert_true(c.checksums && s3_config_is_amazon(&c));
    assert_false(c.anonymous);
    assert_null(c.ca_file);
    assert_int_equal(s3_config_service_url(&c, "sts", "sts", c.region, &url, &error), SHEAF_OK);
    assert_string_equal(url.host, "sts.us-east-1.amazonaws.com");
    url_free(&url);
    s3_config_free(&c);
    setenv("AWS_REGION", "cn-north-1", 1);
    assert_int_equal(s3_config_load(&c, &error), SHEAF_OK);
    assert_int_equal(s3_config_service_url(&c, "sts", "sts", c.region, &url, &error), SHEAF_OK);
    assert_string_equal(url.host, "sts.cn-north-1.amazonaws.com.cn");
    url_free(&url);
    s3_config_free(&c);
}

/* Tests that an endpoint with a name of Amazon's counts as Amazon's service. */
static void test_amazons_endpoints(void **state)
{
    static const struct { const char *endpoint; bool is; } cases[] = {
        { "https://s3.eu-west-1.amazonaws.com", true }, { "https://minio.example", false },
        { "https://bucket.vpce-1-a.s3.us-east-1.vpce.amazonaws.com", true },
        { "https://s3.cn-north-1.amazonaws.com.cn", true }, { "http://127.0.0.1:9000", false },
    };
    struct s3_config c;

    (void)state;
    clear();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        setenv("AWS_ENDPOINT_URL_S3", cases[i].endpoint, 1);
        assert_int_equal(s3_config_load(&c, &error), SHEAF_OK);
        assert_int_equal(s3_config_is_amazon(&c), cases[i].is);
        assert_int_equal(c.checksums, cases[i].is);
        s3_config_free(&c);
    }
    clear();
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
    assert_int_equal(s3_config_service_url(&c, "sts", "sts", c.region, &url, &error), SHEAF_OK);
    assert_string_equal(url.host, "all");
    url_free(&url);
    s3_config_free(&c);

    /* The environment takes precedence. */
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
    assert_false(c.checksums || s3_config_is_amazon(&c));
    assert_string_equal(c.ca_file, "/mine");
    assert_true(c.anonymous);
    assert_int_equal(s3_config_service_url(&c, "sts", "sts", c.region, &url, &error), SHEAF_OK);
    assert_string_equal(url.host, "other");
    url_free(&url);
    s3_config_free(&c);
    setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true", 1);
    assert_int_equal(s3_config_load(&c, &error), SHEAF_OK);
    assert_null(c.endpoint.host);
    s3_config_free(&c);
}

/* Tests settings that occur in two places, and a setting that names a missing section. */
static void test_flags(void **state)
{
    static const char text[] = "[profile p]\nservices = gone\n"
        "[profile q]\nuse_dualstack_endpoint = true\ns3_use_arn_region = false\n"
        "s3_us_east_1_regional_endpoint = regional\nregion = us-east-1\n"
        "s3 =\n  use_dualstack_endpoint = false\n  use_arn_region = true\n";
    struct s3_config c;

    (void)state;
    clear();
    assert_int_equal(store_put(config_path, text, strlen(text), &error), SHEAF_OK);
    setenv("AWS_CONFIG_FILE", config_path, 1);
    setenv("AWS_PROFILE", "p", 1);
    assert_int_equal(s3_config_load(&c, &error), SHEAF_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "no section [services gone]"));
    setenv("AWS_PROFILE", "q", 1);
    assert_int_equal(s3_config_load(&c, &error), SHEAF_OK);
    assert_true(c.dual_stack && c.is_regional && !c.use_arn_region);
    s3_config_free(&c);
}

/* ---- Places ---------------------------------------------------------------------------------- */

#define ARN "arn:aws:s3:eu-west-1:123456789012:accesspoint"

/* Environment variables, a bucket, and the expected "HOST PREFIX REGION SERVICE" or a part of the
 * error. */
static const struct {
    const char *environment[4], *bucket, *place;
} places[] = {
    { { NULL }, "data", "data.s3.amazonaws.com  us-east-1 s3" },
    { { NULL }, "Da.ta", "s3.amazonaws.com /Da.ta us-east-1 s3" },
    { { "AWS_S3_US_EAST_1_REGIONAL_ENDPOINT=regional", "AWS_REGION=us-east-1" }, "data",
      "data.s3.us-east-1.amazonaws.com  us-east-1 s3" },
    { { "AWS_REGION=us-west-2-fips" }, "data",
      "data.s3-fips.us-west-2.amazonaws.com  us-west-2 s3" },
    { { "AWS_REGION=eusc-de-east-1", "AWS_USE_FIPS_ENDPOINT=true",
        "AWS_USE_DUALSTACK_ENDPOINT=true" }, "data",
      "data.s3-fips.dualstack.eusc-de-east-1.amazonaws.eu  eusc-de-east-1 s3" },
    { { "AWS_REGION=cn-north-1", "AWS_USE_FIPS_ENDPOINT=true" }, "data", "partition aws-cn" },
    { { "AWS_REGION=us-west-2", "AWS_USE_FIPS_ENDPOINT=True", "AWS_USE_DUALSTACK_ENDPOINT=true" },
      "data--usw2-az1--x-s3", "data--usw2-az1--x-s3.s3express-fips-usw2-az1.dualstack.us-west-2."
      "amazonaws.com  us-west-2 s3express" },
    { { NULL }, "data--x-s3", "a directory bucket's name ends in --ZONE--x-s3" },
    { { "AWS_REGION=aws-global" }, "data--usw2-az1--x-s3", "set AWS_REGION to its region" },
    { { "AWS_S3_US_EAST_1_REGIONAL_ENDPOINT=regional" }, "data--usw2-az1--xa-s3",
      "set AWS_REGION to its region" },
    { { "AWS_REGION=us-isof-south-1", "AWS_ENDPOINT_URL=http://h",
        "AWS_USE_DUALSTACK_ENDPOINT=true" }, "data", "partition aws-iso-f" },
    { { NULL }, ARN "/ap", "ap-123456789012.s3-accesspoint.eu-west-1.amazonaws.com  eu-west-1 s3" },
    { { "AWS_S3_USE_ARN_REGION=false" }, ARN "/ap", "set AWS_REGION=eu-west-1" },
    { { "AWS_S3_USE_ARN_REGION=false", "AWS_REGION=aws-global" },
      "arn:aws:s3:us-east-1:123456789012:accesspoint/ap", "set AWS_REGION=us-east-1" },
    { { NULL }, "arn:aws:s3::123456789012:accesspoint/a.mrap", "multi-region access points" },
    { { NULL }, "arn:aws:s3-outposts:r:123456789012:outpost/o/accesspoint/a", "s3-outposts" },
    { { NULL }, "arn:aws:s3:::data", "is not the ARN of an access point" },
    { { NULL }, "arn:aws:s3", "invalid ARN" },
    { { NULL }, "arn:aws:s3:r/../x:123456789012:accesspoint/a", "invalid ARN" },
    { { "AWS_ENDPOINT_URL=http://h:9000/a/b/" }, "data", "h /a/b/data us-east-1 s3" },
    { { "AWS_ENDPOINT_URL=http://h/a", "SHEAF_S3_ADDRESSING=virtual" }, "data",
      "data.h /a us-east-1 s3" },
    { { "AWS_ENDPOINT_URL=http://h", "SHEAF_S3_ADDRESSING=virtual" }, "da.ta",
      "da.ta.h  us-east-1 s3" },
    { { "AWS_ENDPOINT_URL=http://10.0.0.1", "SHEAF_S3_ADDRESSING=virtual" }, "data",
      "10.0.0.1 /data us-east-1 s3" },
    { { "AWS_ENDPOINT_URL=http://h", "SHEAF_S3_ADDRESSING=path" }, "data--usw2-az1--x-s3",
      "data--usw2-az1--x-s3.h  us-east-1 s3express" },
    { { "AWS_ENDPOINT_URL=http://h", "SHEAF_S3_ADDRESSING=path" }, "data--usw2-az1--xa-s3",
      "data--usw2-az1--xa-s3.h  us-east-1 s3express" },
};

static void test_places(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct s3_config c;
        struct s3_place place;
        char text[400] = "";

        clear();
        for (size_t j = 0; places[i].environment[j] != NULL; j++) {
            char copy[100], *value;

            snprintf(copy, sizeof(copy), "%s", places[i].environment[j]);
            value = strchr(copy, '=');
            *value++ = '\0';
            setenv(copy, value, 1);
        }
        assert_int_equal(s3_config_load(&c, &error), SHEAF_OK);
        if (s3_place_find(&c, places[i].bucket, NULL, &place, &error) == SHEAF_OK) {
            snprintf(text, sizeof(text), "%s %s %s %s", place.url.host, place.prefix, place.region,
                     place.service);
            assert_string_equal(text, places[i].place);
            s3_place_free(&place);
        } else if (strstr(error.message, places[i].place) == NULL) {
            fail_msg("%s: %s", places[i].bucket, error.message);
        }
        s3_config_free(&c);
    }
    clear();
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
    must_refuse("AWS_PROFILE", "default", "no profile \"default\"");
    must_refuse("AWS_REGION", "us east", "region \"us east\"");
    must_refuse("AWS_REGION", "a/b", "region");
    must_refuse("AWS_ENDPOINT_URL", "localhost:9000", "must begin with http");
    must_refuse("AWS_ENDPOINT_URL_S3", "http://x/path?query", "may not have a query");
    must_refuse("AWS_USE_FIPS_ENDPOINT", "1", "AWS_USE_FIPS_ENDPOINT: \"1\" is neither true nor");
    must_refuse("AWS_RETRY_MODE", "patient", "one of legacy, standard, adaptive");
    must_refuse("AWS_MAX_ATTEMPTS", "0", "not a number of 1 to 1000");
    must_refuse("AWS_S3_US_EAST_1_REGIONAL_ENDPOINT", "no", "neither regional nor legacy");
    must_refuse("AWS_S3_US_EAST_1_REGIONAL_ENDPOINT", "Regional", "neither regional nor legacy");
    must_refuse("SHEAF_S3_ADDRESSING", "dns", "one of auto, path, virtual");
    must_refuse("AWS_REQUEST_CHECKSUM_CALCULATION", "no", "neither when_supported");
    clear();
}

/* Tests "~" in a variable (which no shell has expanded), a quoted name, and keys in any case with a
 * colon. */
static void test_home(void **state)
{
    static const char text[] = "[profile \"two words\"]\nRegion : eu-west-1\n";
    struct s3_config c;

    (void)state;
    clear();
    assert_int_equal(store_put(config_path, text, strlen(text), &error), SHEAF_OK);
    setenv("HOME", "/tmp", 1);
    setenv("AWS_CONFIG_FILE", "~/", 1);
    setenv("AWS_PROFILE", "two words", 1);
    assert_int_not_equal(s3_config_load(&c, &error), SHEAF_OK);
    setenv("AWS_CONFIG_FILE", "~somebody/config", 1);
    assert_int_equal(s3_config_load(&c, &error), SHEAF_ERR_ARGUMENT);
    setenv("AWS_CONFIG_FILE", "$HOME/config", 1);
    assert_int_equal(s3_config_load(&c, &error), SHEAF_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "AWS_CONFIG_FILE: no file \"$HOME/config\": only"));
    snprintf(error.message, sizeof(error.message), "~%s", config_path + strlen("/tmp"));
    setenv("AWS_CONFIG_FILE", error.message, 1);
    assert_int_equal(s3_config_load(&c, &error), SHEAF_OK);
    assert_string_equal(c.region, "eu-west-1");
    s3_config_free(&c);
    clear();
}

static void test_proxies(void **state)
{
    static const char *const names[] = { "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY",
                                         "no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY",
                                         "REQUEST_METHOD" };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
    assert_string_equal(proxy_of("http://a.example/x"), "");
    setenv("HTTP_PROXY", "http://upper:1", 1);
    setenv("HTTPS_PROXY", "http://tls:2", 1);
    assert_string_equal(proxy_of("http://a.example/x"), "http://upper:1");
    assert_string_equal(proxy_of("https://a.example/x"), "http://tls:2");
    setenv("REQUEST_METHOD", "GET", 1);
    assert_string_equal(proxy_of("http://a.example/x"), "");
    unsetenv("REQUEST_METHOD");
    setenv("http_proxy", "http://lower:3", 1);
    assert_string_equal(proxy_of("http://a.example/x"), "http://lower:3");
    setenv("NO_PROXY", "10.0.0.1:9000, .example,b.org", 1);
    assert_string_equal(proxy_of("http://a.EXAMPLE/x"), "");
    assert_string_equal(proxy_of("http://example:80/x"), "");
    assert_string_equal(proxy_of("http://ab.org/x"), "http://lower:3");
    assert_string_equal(proxy_of("http://a.b.org:9/x"), "");
    assert_string_equal(proxy_of("http://10.0.0.1:9000/x"), "");
    assert_string_equal(proxy_of("http://10.0.0.1/x"), "http://lower:3");
    setenv("no_proxy", "*", 1);
    assert_string_equal(proxy_of("https://a.org/"), "");
    setenv("no_proxy", "", 1);
    setenv("http_proxy", "", 1);
    assert_string_equal(proxy_of("http://a.b.org/"), "");
    setenv("ALL_PROXY", "socks5://all:4", 1);
    assert_string_equal(proxy_of("http://a.b.org/"), "socks5://all:4");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
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
        cmocka_unit_test(test_amazons_endpoints),
        cmocka_unit_test(test_profile_settings),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_bad_settings),
        cmocka_unit_test(test_home),
        cmocka_unit_test(test_proxies),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
