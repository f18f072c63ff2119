/* SPDX-License-Identifier: MIT
 *
 * Credentials: their life, the cache that renews them, and every place that they come from, each
 * by reading an object of the fake service, which checks the signature. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
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

/* ---- Life ------------------------------------------------------------------------------------ */

static void test_time(void **state)
{
    static const char *const bad[] = { "", "2026-11-20", "2026-11-20T21:00:00", "x",
        "2026-11-20T21:00:00+02:00", "2026-13-20T21:00:00Z", "2026-11-20T25:00:00Z",
        "2026-11-20T21:00:00Zx" };
    int64_t ms;

    (void)state;
    assert_true(credentials_parse_time("2015-08-30T12:36:00Z", &ms));
    assert_int_equal(ms, 1440938160000);
    assert_true(credentials_parse_time("2015-08-30T12:36:00.123456Z", &ms));
    assert_int_equal(ms, 1440938160000);
    assert_true(credentials_parse_time("2015-08-30T12:36:00+00:00", &ms));
    assert_int_equal(ms, 1440938160000);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(credentials_parse_time(bad[i], &ms));
}

static void test_age(void **state)
{
    static const struct { int64_t life_s, left_ms; enum credentials_age age; } cases[] = {
        { 3600, 3600000, CREDENTIALS_FRESH }, { 3600, 300001, CREDENTIALS_FRESH },
        { 3600, 300000, CREDENTIALS_AGING }, { 3600, 10001, CREDENTIALS_AGING },
        { 3600, 10000, CREDENTIALS_DEAD }, { 3600, -5, CREDENTIALS_DEAD },
        { 300, 75001, CREDENTIALS_FRESH }, { 300, 75000, CREDENTIALS_AGING },
        { 4, 1001, CREDENTIALS_FRESH }, { 4, 1000, CREDENTIALS_AGING },
        { 4, 501, CREDENTIALS_AGING }, { 4, 500, CREDENTIALS_DEAD },
        { 0, 0, CREDENTIALS_DEAD }, { -10, -10000, CREDENTIALS_DEAD },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const int64_t from = 1000000, end = from + cases[i].life_s * 1000;

        assert_int_equal(credentials_age(from, end, end - cases[i].left_ms), cases[i].age);
    }
    assert_int_equal(credentials_age(0, CREDENTIALS_NEVER, INT64_MAX), CREDENTIALS_FRESH);
}

/* ---- The cache ------------------------------------------------------------------------------- */

/* Gives sets "1", "2", ... that live for `life_ms` from now, or fails. */
struct counting_source {
    struct credentials_source base;
    int64_t life_ms;
    int64_t age_ms;             /* so long ago they were obtained, they say */
    bool fails;                 /* atomic */
    unsigned fetches;           /* atomic */
    unsigned freed;
};

static int count_fetch(struct credentials_source *base, struct credentials **set,
                       struct sheaf_error *err)
{
    struct counting_source *s = (struct counting_source *)base;
    const unsigned number = __atomic_add_fetch(&s->fetches, 1, __ATOMIC_ACQ_REL);
    char text[16];

    if (__atomic_load_n(&s->fails, __ATOMIC_ACQUIRE))
        return err_set(err, SHEAF_ERR_ACCESS, "failure %u", number);
    snprintf(text, sizeof(text), "%u", number);
    *set = credentials_new(text, "secret", NULL, s->life_ms == CREDENTIALS_NEVER
                           ? CREDENTIALS_NEVER : credentials_now_ms() + s->life_ms);
    if (*set == NULL)
        return err_memory(err, 1);
    (*set)->obtained_ms -= s->age_ms;
    return SHEAF_OK;
}

static void count_free(struct credentials_source *base)
{
    ((struct counting_source *)base)->freed++;
}

static unsigned wait_number(struct credentials_cache *cache)
{
    struct credentials *set;
    unsigned number;

    if (credentials_wait(cache, &set, &error) != SHEAF_OK)
        return 0;
    number = (unsigned)strtoul(set->access_key_id, NULL, 10);
    credentials_release(set);
    return number;
}

static void test_cache(void **state)
{
    struct counting_source source = { .base = { count_fetch, count_free },
                                      .life_ms = CREDENTIALS_NEVER };
    struct credentials_cache *cache;
    struct credentials *set;

    (void)state;
    assert_int_equal(credentials_cache_open(&cache, &source.base, &error), SHEAF_OK);
    assert_int_equal(credentials_get(cache, &set, &error), SHEAF_END);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(wait_number(cache), 1);
    assert_int_equal(credentials_get(cache, &set, &error), SHEAF_OK);
    assert_false(credentials_reject(cache, set));
    credentials_release(set);
    assert_int_equal(wait_number(cache), 1);
    credentials_cache_close(cache);
    assert_int_equal(source.freed, 1);
}

/* Renewed while the old set is still good, so nobody waits; and a set in use lives on.  With this
 * life and age they are asked for again after two seconds, and are of no use two more seconds
 * later: the thread that gets them may be slow. */
static void test_cache_renews(void **state)
{
    struct counting_source source = { .base = { count_fetch, count_free }, .life_ms = 8000,
                                      .age_ms = 24000 };
    struct credentials_cache *cache;
    struct credentials *first, *set;
    unsigned number = 1;

    (void)state;
    assert_int_equal(credentials_cache_open(&cache, &source.base, &error), SHEAF_OK);
    assert_int_equal(credentials_wait(cache, &first, &error), SHEAF_OK);
    while (number < 2) {
        assert_int_equal(credentials_get(cache, &set, &error), SHEAF_OK);
        assert_true(set->expires_ms > credentials_now_ms());
        number = (unsigned)strtoul(set->access_key_id, NULL, 10);
        credentials_release(set);
        usleep(1000);
    }
    assert_string_equal(first->access_key_id, "1");
    credentials_release(first);
    credentials_cache_close(cache);
}

/* A failure is told to everyone who asks within a second, and then it is tried again. */
static void test_cache_fails(void **state)
{
    struct counting_source source = { .base = { count_fetch, count_free }, .fails = true,
                                      .life_ms = CREDENTIALS_NEVER };
    struct credentials_cache *cache;
    int64_t began_ms;
    unsigned fetches;

    (void)state;
    assert_int_equal(credentials_cache_open(&cache, &source.base, &error), SHEAF_OK);
    began_ms = credentials_now_ms();
    assert_int_equal(wait_number(cache), 0);
    assert_string_equal(error.message, "failure 1");
    assert_int_equal(wait_number(cache), 0);
    if (credentials_now_ms() < began_ms + 1000)     /* else this machine has slept */
        assert_string_equal(error.message, "failure 1");
    __atomic_store_n(&source.fails, false, __ATOMIC_RELEASE);
    usleep(1100000);
    fetches = __atomic_load_n(&source.fetches, __ATOMIC_ACQUIRE);
    assert_int_equal(wait_number(cache), fetches + 1);
    credentials_cache_close(cache);
}

static void test_cache_rejects(void **state)
{
    struct counting_source source = { .base = { count_fetch, count_free }, .life_ms = 3600000 };
    struct credentials_cache *cache;
    struct credentials *set;

    (void)state;
    assert_int_equal(credentials_cache_open(&cache, &source.base, &error), SHEAF_OK);
    assert_int_equal(credentials_wait(cache, &set, &error), SHEAF_OK);
    assert_true(credentials_reject(cache, set));
    assert_int_equal(wait_number(cache), 2);
    assert_true(credentials_reject(cache, set));    /* of old: the new set is not at fault */
    assert_int_equal(wait_number(cache), 2);
    credentials_release(set);
    credentials_cache_close(cache);
}

/* A source whose sets have ended when they come is an error, not a race. */
static void test_cache_stale(void **state)
{
    struct counting_source source = { .base = { count_fetch, count_free }, .life_ms = -60000 };
    struct credentials_cache *cache;

    (void)state;
    assert_int_equal(credentials_cache_open(&cache, &source.base, &error), SHEAF_OK);
    assert_int_equal(wait_number(cache), 0);
    assert_non_null(strstr(error.message, "clock"));
    assert_int_equal(source.fetches, 1);
    credentials_cache_close(cache);
}

/* ---- Places ---------------------------------------------------------------------------------- */

/* Talks to the fake service with nothing in the environment but the endpoint and a config file. */
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

/* Reads the object, and by whose key: "" for a failure, with the message. */
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

/* A role's role: each with its own tags, the first with the keys. */
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
    must_refuse(SHEAF_ERR_ACCESS, "has no credentials");
    without_keys("[default]\nrole_arn = r\nsource_profile = default\n"
                 "role_session_tags = x\n" KEYS);
    must_refuse(SHEAF_ERR_ARGUMENT, "session tag \"x\" is not KEY=VALUE");
    without_keys("[default]\nrole_arn = r\ncredential_source = Elsewhere\n");
    must_refuse(SHEAF_ERR_ARGUMENT, "credential_source \"Elsewhere\"");
    without_keys("[default]\nsso_session = x\n");
    must_refuse(SHEAF_ERR_UNSUPPORTED, "export-credentials");
}

static void test_process(void **state)
{
    (void)state;
    without_keys("[default]\ncredential_process = echo '{\"Version\": 1, \"AccessKeyId\": \""
                 FAKE_ACCESS "\", \"SecretAccessKey\": \"" FAKE_SECRET "\"}'\n");
    must_read();
    without_keys("[default]\ncredential_process = echo '{\"AccessKeyId\": \"" FAKE_SECRET
                 "\"}'\n");
    must_refuse(SHEAF_ERR_CORRUPT, "credential_process: the response has no SecretAccessKey");
    without_keys("[default]\ncredential_process = echo " FAKE_SECRET "\n");
    must_refuse(SHEAF_ERR_CORRUPT, "is not JSON");
    without_keys("[default]\ncredential_process = exit 3\n");
    must_refuse(SHEAF_ERR_ACCESS, "exit status 3");
    without_keys("[default]\ncredential_process = yes\n");
    must_refuse(SHEAF_ERR_LIMIT, "limit");
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

/* Tokens of two seconds: many reads over three lives, and none is ever refused. */
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

/* A service that ends a token early: the next one is got, and the read succeeds. */
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

/* Directory buckets: every request but CreateSession is signed with the session's keys. */
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
    assert_int_equal(s3.key_count - before, 1);
    assert_int_equal(fake_server_count(s3.server, "GET", "?session="), 1);
    fake_s3_set(&s3, s3.life_ms = 3600000);
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
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_age),
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_cache_renews),
        cmocka_unit_test(test_cache_fails),
        cmocka_unit_test(test_cache_rejects),
        cmocka_unit_test(test_cache_stale),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_profile_keys),
        cmocka_unit_test(test_nowhere),
        cmocka_unit_test(test_role),
        cmocka_unit_test(test_role_chain),
        cmocka_unit_test(test_bad_roles),
        cmocka_unit_test(test_process),
        cmocka_unit_test(test_web_identity),
        cmocka_unit_test(test_container),
        cmocka_unit_test(test_instance),
        cmocka_unit_test(test_renewal),
        cmocka_unit_test(test_ended_early),
        cmocka_unit_test(test_sessions),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
