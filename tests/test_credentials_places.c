/* SPDX-License-Identifier: MIT
 *
 * Tests every source of credentials. Each test reads an object of the fake service, which checks
 * the signature. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/s3/credentials.h"
#include "store/store.h"
#include "tests/common_fake_s3.h"

static struct fake_s3 s3;
static struct sheaf_error error;
static char directory[] = "/tmp/sheaf-credentials-XXXXXX";

/* ---- Places ---------------------------------------------------------------------------------- */

/* Sets up the environment for the fake service, with only the endpoint and a config file. */
static void without_keys(const char *config)
{
    static char path[100];

    fake_s3_use(&s3, 1000);
    unsetenv("AWS_ACCESS_KEY_ID");
    unsetenv("AWS_SECRET_ACCESS_KEY");
    snprintf(path, sizeof(path), "%s/config", directory);
    assert_int_equal(store_put(path, config, strlen(config), &error), SHEAF_OK);
    setenv("AWS_CONFIG_FILE", path, 1);
}

/* Reads the object. Returns the name of the key that was used, or "" and the message after a
 * failure. */
static const char *reads_by(void)
{
    static char access[64];
    unsigned before;
    char *text;
    size_t size;

    fake_server_lock(s3.server);
    before = s3.key_count;
    fake_server_unlock(s3.server);
    error.message[0] = '\0';
    if (store_get("s3://bucket/object", 100, &text, &size, &error) != SHEAF_OK)
        return "";
    assert_string_equal(text, "content");
    free(text);
    fake_server_lock(s3.server);
    snprintf(access, sizeof(access), "%s",
             before == s3.key_count ? "old" : s3.keys[(s3.key_count - 1) % FAKE_KEYS_MOST].access);
    fake_server_unlock(s3.server);
    return access;
}

static void must_read(void)
{
    if (reads_by()[0] == '\0')
        fail_msg("%s", error.message);
}

static void must_refuse(int code, const char *text)
{
    if (reads_by()[0] != '\0' || error.code != code || strstr(error.message, text) == NULL)
        fail_msg("%d %s", error.code, error.message);
    assert_null(strstr(error.message, FAKE_SECRET));
}

#define KEYS "aws_access_key_id = " FAKE_ACCESS "\naws_secret_access_key = " FAKE_SECRET "\n"

static void test_environment(void **state)
{
    const struct fake_key *key;

    (void)state;
    fake_s3_use(&s3, 1000);
    must_read();
    key = fake_aws_new_key(&s3, true);
    fake_s3_use(&s3, 1000);
    setenv("AWS_ACCESS_KEY_ID", key->access, 1);
    setenv("AWS_SECRET_ACCESS_KEY", key->secret, 1);
    must_refuse(SHEAF_ERR_ACCESS, "AWS_SESSION_TOKEN");
    fake_s3_use(&s3, 1000);
    setenv("AWS_ACCESS_KEY_ID", key->access, 1);
    setenv("AWS_SECRET_ACCESS_KEY", key->secret, 1);
    setenv("AWS_SESSION_TOKEN", key->token, 1);
    must_read();
    without_keys("");
    setenv("AWS_ACCESS_KEY_ID", FAKE_ACCESS, 1);
    must_refuse(SHEAF_ERR_ACCESS, "AWS_SECRET_ACCESS_KEY is not");
}

static void test_profile_keys(void **state)
{
    (void)state;
    without_keys("[default]\n" KEYS);
    must_read();
    without_keys("[default]\nregion = us-east-1\n[profile other]\n" KEYS);
    setenv("AWS_PROFILE", "other", 1);
    must_read();
    without_keys("[default]\naws_access_key_id = " FAKE_ACCESS "\n");
    must_refuse(SHEAF_ERR_ACCESS, "profile \"default\": an access key id or secret without");
}

static void test_nowhere(void **state)
{
    (void)state;
    without_keys("[default]\nregion = us-east-1\n");
    must_refuse(SHEAF_ERR_ACCESS, "no AWS credentials");
    fake_s3_set(&s3, s3.anonymous = true);
    without_keys("");
    setenv("AWS_NO_SIGN_REQUEST", "1", 1);
    must_read();
    fake_s3_set(&s3, s3.anonymous = false);
}

static void test_role(void **state)
{
    (void)state;
    without_keys("[default]\nrole_arn = arn:aws:iam::1:role/reader\nsource_profile = keys\n"
                 "external_id = e x\nduration_seconds = 900\nrole_session_name = me\n"
                 "role_session_tags = tenant=a b,team=x\n[profile keys]\n" KEYS);
    must_read();
    assert_string_equal(s3.form, "Action=AssumeRole&DurationSeconds=900&ExternalId=e%20x&"
        "RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Freader&RoleSessionName=me&"
        "Tags.member.1.Key=tenant&Tags.member.1.Value=a%20b&Tags.member.2.Key=team&"
        "Tags.member.2.Value=x&Version=2011-06-15");
    without_keys("[default]\nrole_arn = arn:aws:iam::1:role/reader\nsource_profile = default\n"
                 KEYS);
    setenv("SHEAF_SESSION_TAGS", "tenant=b", 1);
    must_read();
    assert_non_null(strstr(s3.form, "Tags.member.1.Value=b&"));
}

/* Tests a role that is assumed by another role. Each has its own tags, and the first one has the
 * keys. */
static void test_role_chain(void **state)
{
    const unsigned before = s3.key_count;

    (void)state;
    without_keys("[default]\nrole_arn = outer\nsource_profile = middle\n"
                 "[profile middle]\nrole_arn = inner\nsource_profile = keys\n"
                 "[profile keys]\n" KEYS);
    must_read();
    assert_int_equal(s3.key_count - before, 2);
}

static void test_bad_roles(void **state)
{
    (void)state;
    without_keys("[default]\nrole_arn = arn:aws:iam::1:role/forbidden\nsource_profile = keys\n"
                 "[profile keys]\n" KEYS);
    must_refuse(SHEAF_ERR_ACCESS, "assuming role arn:aws:iam::1:role/forbidden: AccessDenied");
    without_keys("[default]\nrole_arn = r\n");
    must_refuse(SHEAF_ERR_ACCESS, "a role_arn without source_profile");
    without_keys("[default]\nrole_arn = r\nsource_profile = nobody\n");
    must_refuse(SHEAF_ERR_ACCESS, "no profile \"nobody\"");
    without_keys("[default]\nrole_arn = r\nsource_profile = b\n"
                 "[profile b]\nrole_arn = r\nsource_profile = default\n");
    must_refuse(SHEAF_ERR_ACCESS, "source_profile \"default\" leads back to itself");
    without_keys("[default]\nrole_arn = r\nsource_profile = default\ncredential_process = x\n");
    must_refuse(SHEAF_ERR_ACCESS, "is the profile itself, which has no keys");
    without_keys("[default]\nrole_arn = r\nsource_profile = b\n[profile b]\n");
    must_refuse(SHEAF_ERR_ACCESS, "source_profile \"b\" has no credentials");
    without_keys("[default]\nrole_arn = r\nsource_profile = default\n"
                 "duration_seconds = 1 h\n" KEYS);
    must_refuse(SHEAF_ERR_ARGUMENT, "duration_seconds: \"1 h\" is not a number");
    without_keys("[default]\nrole_arn = r\nsource_profile = default\n"
                 "role_session_tags = x\n" KEYS);
    must_refuse(SHEAF_ERR_ARGUMENT, "session tag \"x\" is not KEY=VALUE");
    without_keys("[default]\nrole_arn = r\ncredential_source = Elsewhere\n");
    must_refuse(SHEAF_ERR_ARGUMENT, "credential_source \"Elsewhere\"");
    without_keys("[default]\nrole_arn = r\nmfa_serial = m\nsource_profile = default\n" KEYS);
    must_refuse(SHEAF_ERR_UNSUPPORTED, "mfa_serial: there is nobody to ask");
    without_keys("[default]\nrole_arn = r\nsource_profile = a\ncredential_source = Environment\n");
    must_refuse(SHEAF_ERR_ACCESS, "one too many");
    without_keys("[default]\nlogin_session = x\n" KEYS);
    must_refuse(SHEAF_ERR_UNSUPPORTED, "export-credentials --profile default");
}

static void test_process(void **state)
{
    (void)state;
    without_keys("[default]\ncredential_process = echo '{\"Version\": 1, \"AccessKeyId\": \""
                 FAKE_ACCESS "\", \"SecretAccessKey\": \"" FAKE_SECRET "\"}'\n");
    must_read();
    without_keys("[default]\ncredential_process = echo '{\"Version\": 1, \"AccessKeyId\": "
                 "\"" FAKE_SECRET "\"}'\n");
    must_refuse(SHEAF_ERR_CORRUPT, "credential_process: the response has no SecretAccessKey");
    without_keys("[default]\ncredential_process = echo " FAKE_SECRET "\n");
    must_refuse(SHEAF_ERR_CORRUPT, "is not JSON");
    without_keys("[default]\ncredential_process = echo '{\"Version\": 2}'\n");
    must_refuse(SHEAF_ERR_UNSUPPORTED, "must have \"Version\": 1");
    without_keys("[default]\ncredential_process = exit 3\n");
    must_refuse(SHEAF_ERR_ACCESS, "exit status 3");
    without_keys("[default]\ncredential_process = yes\n");
    must_refuse(SHEAF_ERR_LIMIT, "limit");
}

/* Tests that the program does not inherit ignored signals. The shell sends itself the signal. */
static void test_signals_of_the_process(void **state)
{
    static const struct { int number; const char *settings; } signals[] = {
        { SIGXFSZ, "[default]\ncredential_process = kill -s XFSZ $$; exit 3\n" },
        { SIGPIPE, "[default]\ncredential_process = kill -s PIPE $$; exit 3\n" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(signals); i++) {
        void (*before)(int) = signal(signals[i].number, SIG_IGN);
        char message[32];

        snprintf(message, sizeof(message), "exit status %d", 128 + signals[i].number);
        without_keys(signals[i].settings);
        must_refuse(SHEAF_ERR_ACCESS, message);
        (void)signal(signals[i].number, before);
    }
}

static void test_web_identity(void **state)
{
    char path[100];

    (void)state;
    without_keys("");
    snprintf(path, sizeof(path), "%s/token", directory);
    assert_int_equal(store_put(path, "web-token\n", 10, &error), SHEAF_OK);
    setenv("AWS_WEB_IDENTITY_TOKEN_FILE", path, 1);
    must_refuse(SHEAF_ERR_ACCESS, "AWS_ROLE_ARN is not");
    without_keys("");
    setenv("AWS_WEB_IDENTITY_TOKEN_FILE", path, 1);
    setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/pod", 1);
    must_read();
    assert_string_equal(s3.form, "Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Aaws%3Aiam%3A%3A1"
        "%3Arole%2Fpod&RoleSessionName=sheaf&Version=2011-06-15&WebIdentityToken=web-token");
    unlink(path);
    without_keys("");
    setenv("AWS_WEB_IDENTITY_TOKEN_FILE", path, 1);
    setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/pod", 1);
    must_refuse(SHEAF_ERR_NOT_FOUND, path);
}

/* Tests a profile's own token file. Also tests that the token file of the environment comes before
 * the profile's keys, but after the profile's role. */
static void test_web_identity_and_profile(void **state)
{
    char path[100], config[300];

    (void)state;
    snprintf(path, sizeof(path), "%s/token", directory);
    assert_int_equal(store_put(path, "web-token\n", 10, &error), SHEAF_OK);
    snprintf(config, sizeof(config), "[default]\nrole_arn = r\nweb_identity_token_file = %s\n"
             KEYS, path);
    without_keys(config);
    must_read();
    assert_non_null(strstr(s3.form, "Action=AssumeRoleWithWebIdentity&RoleArn=r&"));
    without_keys("[default]\n" KEYS);
    setenv("AWS_WEB_IDENTITY_TOKEN_FILE", path, 1);
    setenv("AWS_ROLE_ARN", "pod", 1);
    must_read();
    assert_non_null(strstr(s3.form, "Action=AssumeRoleWithWebIdentity&RoleArn=pod&"));
    without_keys("[default]\nrole_arn = r\nsource_profile = default\n" KEYS);
    setenv("AWS_WEB_IDENTITY_TOKEN_FILE", path, 1);
    setenv("AWS_ROLE_ARN", "pod", 1);
    must_read();
    assert_non_null(strstr(s3.form, "Action=AssumeRole&"));
    unlink(path);
}

/* ---- Single sign-on -------------------------------------------------------------------------- */

#define SSO "sso_region = us-east-1\nsso_start_url = https://company.example/start\n"
#define SSO_ROLE "sso_account_id = 123456789012\nsso_role_name = Reader\n"

#define SESSION_FILE "71b21161ffa1e6516bcc072aaf5ef38cbe85b511"     /* SHA-1 of "company" */
#define URL_FILE "6de5429f0b053f08cede2b3ac6756f2de80f894e"         /* SHA-1 of sso_start_url */

static void leave_token(const char *name, const char *token, const char *expires)
{
    char path[200], text[200];

    snprintf(path, sizeof(path), "%s/.aws/sso/cache/%s.json", directory, name);
    snprintf(text, sizeof(text), "{\"accessToken\": \"%s\", \"expiresAt\": \"%s\"}", token,
             expires);
    assert_int_equal(store_put(path, text, strlen(text), &error), SHEAF_OK);
}

/* Tests that the token of `aws sso login` is used, and that the error advises a login if the token
 * is missing or has expired. */
static void test_sso(void **state)
{
    static const char by_session[] = "[default]\nsso_session = company\n" SSO_ROLE
                                     "[sso-session \"company\"]\n" SSO;
    char path[100];

    (void)state;
    snprintf(path, sizeof(path), "%s/.aws/sso/cache", directory);
    assert_int_equal(store_make_directory(path, NULL, &error), SHEAF_OK);
    setenv("HOME", directory, 1);
    without_keys(by_session);
    must_refuse(SHEAF_ERR_ACCESS, "nobody is logged in: run aws sso login --profile default");
    leave_token(SESSION_FILE, "sso-token", "2099-01-01T00:00:00Z");
    without_keys(by_session);
    must_read();
    leave_token(SESSION_FILE, "sso-token", "2019-01-01T00:00:00Z");
    without_keys(by_session);
    must_refuse(SHEAF_ERR_ACCESS, "its token has expired: run aws sso login");
    leave_token(SESSION_FILE, "ended-early", "2099-01-01T00:00:00Z");
    without_keys(by_session);
    must_refuse(SHEAF_ERR_ACCESS, "does not take its token any more: run aws sso login");
    assert_null(strstr(error.message, "ended-early"));
    leave_token(URL_FILE, "sso-token", "2099-01-01T00:00:00UTC");
    without_keys("[default]\n" SSO SSO_ROLE);
    must_read();
    without_keys("[default]\nsso_region = r\n" SSO_ROLE);
    must_refuse(SHEAF_ERR_ACCESS, "single sign-on without sso_start_url");
    without_keys("[default]\nsso_session = company\nsso_region = r\n" SSO_ROLE
                 "[sso-session company]\n" SSO);
    must_refuse(SHEAF_ERR_ACCESS, "sso_region is \"r\" here, but \"us-east-1\" in [sso-session");
    without_keys("[default]\nsso_session = other\n" SSO SSO_ROLE "[sso-session company]\n" SSO);
    must_refuse(SHEAF_ERR_ACCESS, "sso_session: no sso_region in [sso-session other]");
}

static void test_container(void **state)
{
    char full[100], path[100];

    (void)state;
    without_keys("");
    setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/container", 1);
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "container-token", 1);
    must_read();
    without_keys("");
    snprintf(full, sizeof(full), "%s/container", fake_s3_endpoint(&s3));
    snprintf(path, sizeof(path), "%s/token", directory);
    assert_int_equal(store_put(path, "container-token\n", 16, &error), SHEAF_OK);
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", full, 1);
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", path, 1);
    must_read();
    without_keys("");
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", full, 1);
    must_refuse(SHEAF_ERR_ACCESS, "status 403");
    without_keys("");
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.org/x", 1);
    must_refuse(SHEAF_ERR_ACCESS, "http to host example.org is not allowed");
    without_keys("");
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", full, 1);
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "two\r\nlines", 1);
    must_refuse(SHEAF_ERR_ARGUMENT, "line break");
}

static void test_instance(void **state)
{
    (void)state;
    without_keys("");
    unsetenv("AWS_EC2_METADATA_DISABLED");
    setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", fake_s3_endpoint(&s3), 1);
    must_read();
    without_keys("[default]\nrole_arn = r\ncredential_source = Ec2InstanceMetadata\n");
    unsetenv("AWS_EC2_METADATA_DISABLED");
    setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", fake_s3_endpoint(&s3), 1);
    must_read();
    without_keys("");
    unsetenv("AWS_EC2_METADATA_DISABLED");
    setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1", 1);
    must_refuse(SHEAF_ERR_ACCESS, "no AWS credentials");
}

/* ---- Renewal --------------------------------------------------------------------------------- */

/* Tests tokens that live for two seconds. Many reads during three lives must all succeed. */
static void test_renewal(void **state)
{
    const int64_t end_ms = credentials_now_ms() + 5000;
    const unsigned before = s3.key_count;

    (void)state;
    without_keys("");
    setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/container", 1);
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "container-token", 1);
    fake_s3_set(&s3, s3.life_ms = 2000);
    fake_s3_set(&s3, s3.refused = 0);
    while (credentials_now_ms() < end_ms)
        must_read();
    assert_int_equal(s3.refused, 0);
    assert_in_range(s3.key_count - before, 2, 12);
    fake_s3_set(&s3, s3.life_ms = 3600000);
}

/* Tests a service that ends a token early. The next token must be fetched, and the read must
 * succeed. */
static void test_ended_early(void **state)
{
    const struct fake_fault expired = { .kind = FAKE_STATUS, .status = 400, .times = 1,
                                        .method = "GET", .match = "/object",
                                        .code = "ExpiredToken" };
    struct store_object *object;
    char bytes[7];
    unsigned before;

    (void)state;
    without_keys("");
    setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/container", 1);
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "container-token", 1);
    assert_int_equal(store_open("s3://bucket/object", &object, &error), SHEAF_OK);
    before = s3.key_count;
    fake_server_add_fault(s3.server, &expired);
    assert_int_equal(store_read(object, 0, bytes, 7, &error), SHEAF_OK);
    fake_server_clear_faults(s3.server);
    assert_int_equal(s3.key_count - before, 1);
    store_close(object);
}

/* Tests directory buckets: every request except CreateSession must be signed with the session's
 * keys. */
static void test_sessions(void **state)
{
    static const char url[] = "s3://data--use1-az4--x-s3/object";
    const unsigned before = s3.key_count;
    char *text;
    size_t size;

    (void)state;
    fake_s3_use(&s3, 1000);
    fake_s3_set(&s3, s3.life_ms = 300000);
    assert_int_equal(store_put(url, "content", 7, &error), SHEAF_OK);
    assert_int_equal(store_get(url, 100, &text, &size, &error), SHEAF_OK);
    assert_string_equal(text, "content");
    free(text);
    /* A program that only reads gets a session that may only read. */
    assert_int_equal(s3.key_count - before, 2);
    assert_true(s3.keys[(before + 1) % FAKE_KEYS_MOST].read_only);
    assert_false(s3.keys[before % FAKE_KEYS_MOST].read_only);
    assert_int_equal(fake_server_count(s3.server, "GET", "?session="), 2);
    fake_s3_set(&s3, s3.life_ms = 3600000);
}

static void without_keys_in_container(void)
{
    without_keys("");
    setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/container", 1);
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "container-token", 1);
}

static void without_keys_on_instance(void)
{
    without_keys("");
    unsetenv("AWS_EC2_METADATA_DISABLED");
    setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", fake_s3_endpoint(&s3), 1);
}

static void with_role(void)
{
    without_keys("[default]\nrole_arn = r\nsource_profile = default\n" KEYS);
}

static void with_sso(void)
{
    leave_token(URL_FILE, "sso-token", "2099-01-01T00:00:00Z");
    without_keys("[default]\n" SSO SSO_ROLE);
}

/* Tests responses that end early. The request must be repeated. If all responses end early, the
 * result is an error that contains no part of the credentials. */
static void test_torn(void **state)
{
    static const struct {
        void (*use)(void);
        const char *match, *text;
    } places[] = {
        { without_keys_in_container, "/container", "for credentials: the response is not JSON" },
        { without_keys_on_instance, "/the-role", "for credentials: the response is not JSON" },
        { with_sso, "/federation", "single sign-on: the response is not JSON" },
        { with_role, "POST /", "assuming role r: a reply of 150 bytes is not XML: " },
    };

    (void)state;
    setenv("HOME", directory, 1);
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        struct fake_fault torn = { .kind = FAKE_TORN, .match = places[i].match, .times = 2,
                                   .at = 150 };
        places[i].use();
        fake_server_add_fault(s3.server, &torn);
        must_read();
        fake_server_clear_faults(s3.server);
        torn.times = 0;
        places[i].use();
        fake_server_add_fault(s3.server, &torn);
        must_refuse(SHEAF_ERR_CORRUPT, places[i].text);
        assert_non_null(strstr(error.message, "; gave up after 6 attempts in "));
        assert_null(strstr(error.message, "fake/"));
        fake_server_clear_faults(s3.server);
    }
}

/* Tests the same for CreateSession. */
static void test_torn_session(void **state)
{
    static const char url[] = "s3://data--use1-az4--x-s3/object";
    struct fake_fault torn = { .kind = FAKE_TORN, .match = "?session=", .times = 2, .at = 150 };
    char *text;
    size_t size;

    (void)state;
    fake_s3_put(&s3, "/data--use1-az4--x-s3/object", "content", 7);
    fake_s3_use(&s3, 1000);
    fake_server_add_fault(s3.server, &torn);
    assert_int_equal(store_get(url, 100, &text, &size, &error), SHEAF_OK);
    free(text);
    fake_server_clear_faults(s3.server);
    torn.times = 0;
    fake_s3_use(&s3, 1000);
    fake_server_add_fault(s3.server, &torn);
    if (store_get(url, 100, &text, &size, &error) != SHEAF_ERR_CORRUPT ||
        strstr(error.message, "creating a session of bucket data--use1-az4--x-s3: a reply of 150 "
               "bytes is not XML: ") == NULL)
        fail_msg("%d %s", error.code, error.message);
    fake_server_clear_faults(s3.server);
}

static int start(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL)
        return -1;
    fake_s3_start(&s3);
    fake_s3_put(&s3, "/bucket/object", "content", 7);
    return 0;
}

static int stop(void **state)
{
    char command[100];

    (void)state;
    fake_s3_stop(&s3);
    snprintf(command, sizeof(command), "rm -r %s", directory);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_profile_keys),
        cmocka_unit_test(test_nowhere),
        cmocka_unit_test(test_role),
        cmocka_unit_test(test_role_chain),
        cmocka_unit_test(test_bad_roles),
        cmocka_unit_test(test_process),
        cmocka_unit_test(test_signals_of_the_process),
        cmocka_unit_test(test_web_identity),
        cmocka_unit_test(test_web_identity_and_profile),
        cmocka_unit_test(test_sso),
        cmocka_unit_test(test_container),
        cmocka_unit_test(test_instance),
        cmocka_unit_test(test_renewal),
        cmocka_unit_test(test_ended_early),
        cmocka_unit_test(test_sessions),
        cmocka_unit_test(test_torn),
        cmocka_unit_test(test_torn_session),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
