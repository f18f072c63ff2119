/* SPDX-License-Identifier: MIT
 *
 * Tests the S3 store with a real service: Ceph's radosgw on loopback (tests/s3/radosgw.sh), which
 * does its own checks of signatures, ranges, conditions and policies. Uses HTTP and TLS, and the
 * bucket in the path and in the host name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "store/over.h"
#include "store/remote.h"
#include "store/s3/s3.h"
#include "store/s3/s3_upload.h"
#include "store/store.h"
#include "tests/common_must.h"

#define MIB ((size_t)1 << 20)

static char directory[64] = "/tmp/sheaf-s3-XXXXXX";
static struct sheaf_error error;

#define must_fail(call, expected_code, text) do { \
    const int must_code = (call); \
    if (must_code != (expected_code) || strstr(error.message, text) == NULL) \
        fail_msg("%s: %d %s", #call, must_code, error.message); } while (0)

/* ---- The server ------------------------------------------------------------------------------ */

static int script(const char *what)
{
    char command[200];
    int status;

    snprintf(command, sizeof(command), "tests/s3/radosgw.sh %s %s %d", what, directory,
             (int)getpid());
    status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Reads the server's env file. S3_PLAIN and the other settings become environment variables. */
static void read_env(void)
{
    char path[100], *text, *rest, *line;
    size_t size;

    snprintf(path, sizeof(path), "%s/env", directory);
    must(store_get(path, 4096, &text, &size, &error));
    rest = text;
    while ((line = strsep(&rest, "\n")) != NULL) {
        char *value = strchr(line, '=');

        if (value != NULL) {
            *value++ = '\0';
            setenv(line, value, 1);
        }
    }
    free(text);
}

/* Sets up the environment for requests to the server. NULL leaves a variable unset. */
static void talk(const char *endpoint, const char *style, const char *access, const char *secret)
{
    const char *const variables[][2] = {
        { "AWS_ENDPOINT_URL", endpoint != NULL ? getenv(endpoint) : NULL },
        { "SHEAF_S3_ADDRESSING", style },
        { "AWS_ACCESS_KEY_ID", access },
        { "AWS_SECRET_ACCESS_KEY", secret },
        { "AWS_CA_BUNDLE", getenv("S3_CA") },
        { "AWS_EC2_METADATA_DISABLED", "true" },
        { "AWS_CONFIG_FILE", "/nonexistent" },
        { "AWS_SHARED_CREDENTIALS_FILE", "/nonexistent" },
        { "AWS_PROFILE", NULL }, { "AWS_NO_SIGN_REQUEST", NULL }, { "AWS_REGION", NULL },
    };

    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
        if (variables[i][1] != NULL)
            setenv(variables[i][0], variables[i][1], 1);
        else
            unsetenv(variables[i][0]);
    remote_reset(NULL, NULL);
}

static void talk_plain(void)
{
    talk("S3_PLAIN", "path", getenv("S3_ACCESS"), getenv("S3_SECRET"));
}

static void make_bucket(const char *url)
{
    const struct s3_bucket *bucket;
    struct request r;
    char *key;

    must(s3_locate(url, &bucket, &key, &error));
    must(s3_request_init(&r, bucket, HTTP_PUT, "", NULL, 0, "making", &error));
    must(request_run(&r, &error));
    request_free(&r);
    free(key);
}

static int start_server(void **state)
{
    int status;

    (void)state;
    if (mkdtemp(directory) == NULL)
        return -1;
    status = script("start");
    if (status != 0) {
        rmdir(directory);
        if (status == 77)
            _exit(77);
        return -1;
    }
    read_env();
    talk_plain();
    make_bucket("s3://shared");
    return 0;
}

static int stop_server(void **state)
{
    char command[100];

    (void)state;
    remote_reset(NULL, NULL);
    script("stop");
    snprintf(command, sizeof(command), "rm -r %s", directory);
    return system(command);
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

/* Fills memory with bytes that differ at every offset, so that a misplaced piece is noticed. */
static void fill(uint8_t *data, size_t size, uint64_t seed)
{
    for (size_t i = 0; i < size; i++) {
        const uint64_t x = (i + seed) * 0x9e3779b97f4a7c15u;

        data[i] = (uint8_t)(x >> 56);
    }
}

static void write_object(const char *url, const uint8_t *data, size_t size, size_t piece)
{
    struct store_writer *writer;

    must(store_create(url, &writer, &error));
    for (size_t at = 0; at < size; at += piece)
        must(store_write(writer, data + at, size - at < piece ? size - at : piece, &error));
    must(store_commit(writer, &error));
}

static void check_object(const char *url, const uint8_t *data, size_t size)
{
    struct store_object *object;
    uint8_t *copy = malloc(size + 1);

    must(store_open(url, &object, &error));
    assert_int_equal(object->bytes, size);
    assert_true(object->is_remote);
    must(store_read(object, 0, copy, size, &error));
    assert_memory_equal(copy, data, size);
    if (size > 1000) {
        memset(copy, 0, size);
        must(store_read(object, size - 1000, copy, 1000, &error));
        assert_memory_equal(copy, data + size - 1000, 1000);
    }
    must_fail(store_read(object, size, copy, 1, &error), SHEAF_ERR_TRUNCATED, "cannot read");
    store_close(object);
    free(copy);
}

/* ---- Everything, each way -------------------------------------------------------------------- */

static void all_calls(const char *url)
{
    const size_t size = 20 * MIB + 12345;
    uint8_t *data = malloc(size);
    uint64_t bytes;
    char *text;
    size_t text_size;

    fill(data, size, 1);
    write_object(url, data, size, 3 * MIB + 7);
    check_object(url, data, size);
    must(store_put(url, "small", 5, &error));
    must(store_get(url, 100, &text, &text_size, &error));
    assert_string_equal(text, "small");
    free(text);
    must(store_put(url, "", 0, &error));
    check_object(url, data, 0);
    must(store_size(url, &bytes, &error));
    assert_int_equal(bytes, 0);
    must(store_remove(url, &error));
    must(store_remove(url, &error));
    must_fail(store_size(url, &bytes, &error), SHEAF_ERR_NOT_FOUND, "NoSuchKey");
    free(data);
}

static void test_plain(void **state)
{
    (void)state;
    talk_plain();
    all_calls("s3://shared/dir/object");
    talk("S3_PLAIN_NAMED", "virtual", getenv("S3_ACCESS"), getenv("S3_SECRET"));
    all_calls("s3://shared/dir/object");
}

static void test_tls(void **state)
{
    (void)state;
    talk("S3_TLS", "path", getenv("S3_ACCESS"), getenv("S3_SECRET"));
    all_calls("s3://shared/dir/object");
    talk("S3_TLS_NAMED", "virtual", getenv("S3_ACCESS"), getenv("S3_SECRET"));
    all_calls("s3://shared/dir/object");
}

/* Amazon's service verifies checksums. This service accepts and ignores them, and writes must
 * succeed anyway. */
static void test_with_checksums(void **state)
{
    (void)state;
    talk_plain();
    setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "when_supported", 1);
    remote_reset(NULL, NULL);
    all_calls("s3://shared/dir/object");
    unsetenv("AWS_REQUEST_CHECKSUM_CALCULATION");
}

/* ---- Keys and listings ----------------------------------------------------------------------- */

static const char *const odd_names[] = {
    "!\"#$&'()*,", "+", "-dash", "/slash//twice", "a\tb", "a b", "a+b", "a=b;c", "a@b:c",
    "back\\slash", "caret^", "per%20cent", "per%cent", "query?x=1", "tilde~", "{brace}",
    "\xc3\xbcml", "\xe6\xbc\xa2\xe5\xad\x97", "\xf0\x9f\x8c\xbe.jpg",
};

/* Checks that each odd name is listed once, with its own size. */
static int find_name(void *context, const struct store_entry *entry)
{
    unsigned *found = context;

    for (size_t i = 0; i < COUNT_OF(odd_names); i++)
        if (strcmp(entry->name, odd_names[i]) == 0 && entry->bytes == strlen(odd_names[i])) {
            found[i]++;
            return 0;
        }
    return SHEAF_ERR_CORRUPT;
}

static void test_odd_keys(void **state)
{
    unsigned found[COUNT_OF(odd_names)] = { 0 };
    char url[1200], *text;
    size_t size;

    (void)state;
    talk_plain();
    for (size_t i = 0; i < COUNT_OF(odd_names); i++) {
        snprintf(url, sizeof(url), "s3://shared/odd/%s", odd_names[i]);
        must(store_put(url, odd_names[i], strlen(odd_names[i]), &error));
        must(store_get(url, 100, &text, &size, &error));
        assert_string_equal(text, odd_names[i]);
        free(text);
    }
    must(store_walk("s3://shared/odd", find_name, found, &error));
    for (size_t i = 0; i < COUNT_OF(odd_names); i++) {
        assert_int_equal(found[i], 1);
        snprintf(url, sizeof(url), "s3://shared/odd/%s", odd_names[i]);
        must(store_remove(url, &error));
    }
    memcpy(url, "s3://shared/", 12);
    memset(url + 12, 'k', 1024);
    url[12 + 1024] = '\0';
    must(store_put(url, "long", 4, &error));
    must(store_remove(url, &error));
    url[12 + 1024] = 'k';
    url[12 + 1025] = '\0';
    must_fail(store_put(url, "long", 4, &error), SHEAF_ERR_LIMIT, "1024");
}

static int collect(void *context, const struct store_entry *entry)
{
    struct buf *names = context;

    return buf_printf(names, NULL, "%s:%llu\n", entry->name, (unsigned long long)entry->bytes);
}

/* Tests a listing of more than a page, with deeper directories, hidden names and markers. */
static void test_list(void **state)
{
    struct buf listed = BUF_INIT(MIB), expected = BUF_INIT(MIB);
    char url[100];

    (void)state;
    talk_plain();
    for (unsigned i = 0; i < 1003; i++) {
        snprintf(url, sizeof(url), "s3://shared/list/file-%04u", i);
        must(store_put(url, url, i % 7, &error));
        must(buf_printf(&expected, &error, "file-%04u:%u\n", i, i % 7));
    }
    must(store_put("s3://shared/list/below/file", "x", 1, &error));
    must(store_put("s3://shared/list/.hidden", "x", 1, &error));
    must(store_put("s3://shared/list/", "", 0, &error));
    must(store_put("s3://shared/list-not", "x", 1, &error));
    must(store_list("s3://shared/list", collect, &listed, &error));
    assert_int_equal(listed.size, expected.size);
    assert_memory_equal(listed.data, expected.data, expected.size);
    listed.size = 0;
    must(store_list("s3://shared/list/", collect, &listed, &error));
    assert_int_equal(listed.size, expected.size);
    listed.size = 0;
    must(store_list("s3://shared/nothing/", collect, &listed, &error));
    assert_int_equal(listed.size, 0);
    must(store_put("s3://shared/list/above/.hidden/file", "x", 1, &error));
    must(store_put("s3://shared/list/.away/file", "x", 1, &error));
    must(store_list_directories("s3://shared/list", collect, &listed, &error));
    assert_int_equal(listed.size, strlen("above:0\nbelow:0\n"));
    assert_memory_equal(listed.data, "above:0\nbelow:0\n", listed.size);
    must_fail(store_list("s3://no-such-bucket/x", collect, &listed, &error), SHEAF_ERR_NOT_FOUND,
              "NoSuchBucket");
    buf_free(&listed);
    buf_free(&expected);
}

/* ---- Many at once, and what changes ---------------------------------------------------------- */

struct counted_read {
    struct store_read base;
    unsigned *done;
};

static void count_done(struct store_read *read)
{
    __atomic_add_fetch(((struct counted_read *)read)->done, 1, __ATOMIC_ACQ_REL);
}

static void test_many_reads(void **state)
{
    enum { READS = 64 };
    const size_t piece = 300001, size = READS * piece;
    struct counted_read reads[READS];
    uint8_t *data = malloc(size), *copy = calloc(1, size);
    struct store_object *object;
    unsigned done = 0;

    (void)state;
    talk_plain();
    fill(data, size, 2);
    write_object("s3://shared/many", data, size, size);
    must(store_open("s3://shared/many", &object, &error));
    for (size_t i = 0; i < READS; i++) {
        reads[i] = (struct counted_read){ .done = &done, .base = {
            .object = object, .offset = i * piece, .data = copy + i * piece, .size = piece,
            .done = count_done } };
        store_read_start(&reads[i].base);
    }
    while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) != READS)
        usleep(1000);
    for (size_t i = 0; i < READS; i++)
        assert_int_equal(reads[i].base.code, SHEAF_OK);
    assert_memory_equal(copy, data, size);
    store_close(object);
    free(data);
    free(copy);
}

static void test_replaced(void **state)
{
    struct store_object *object;
    char byte;

    (void)state;
    talk_plain();
    must(store_put("s3://shared/replaced", "before", 6, &error));
    must(store_open("s3://shared/replaced", &object, &error));
    must(store_put("s3://shared/replaced", "behind", 6, &error));
    must_fail(store_read(object, 0, &byte, 1, &error), SHEAF_ERR_CHANGED, "HTTP status 412");
    must(store_remove("s3://shared/replaced", &error));
    must_fail(store_read(object, 0, &byte, 1, &error), SHEAF_ERR_CHANGED, "removed");
    store_close(object);
}

/* Writes an object only if no object has its name. */
static int put_new(const char *url, const void *bytes, size_t size)
{
    const struct store_seen none = { .is_there = false };
    struct store_seen now;

    return store_put_over(url, bytes, size, &none, &now, &error);
}

static void test_put_new(void **state)
{
    char *text;
    size_t size;

    (void)state;
    talk_plain();
    must(put_new("s3://shared/new/manifest", "first", 5));
    assert_int_equal(put_new("s3://shared/new/manifest", "other", 5), SHEAF_ERR_CHANGED);
    must(store_get("s3://shared/new/manifest", 10, &text, &size, &error));
    assert_string_equal(text, "first");
    free(text);
}

static void count_upload(const char *key, unsigned *count)
{
    struct sigv4_pair query[] = { { "uploads", "" }, { "prefix", key } };
    const struct s3_bucket *bucket;
    struct request r;
    char *rest;

    must(s3_locate("s3://shared", &bucket, &rest, &error));
    must(s3_request_init(&r, bucket, HTTP_GET, "", query, 2, "listing", &error));
    must(request_run(&r, &error));
    must(buf_append(&r.http.reply, "", 1, &error));
    *count = 0;
    for (char *at = (char *)r.http.reply.data; (at = strstr(at, "<UploadId>")) != NULL; at++)
        ++*count;
    request_free(&r);
    free(rest);
}

static bool is_any(const void *context, const char *name) { return context != name; }

/* Tests that an upload is invisible before its commit and after an abort. Uploads of a killed run
 * must be found under their prefix, and only there. */
static void test_uploads(void **state)
{
    char mark[S3_MARK_SIZE];
    const size_t size = 40 * MIB;
    const struct s3_bucket *bucket;
    struct store_writer *writer;
    uint8_t *data = malloc(size);
    char *key, *id;
    uint64_t bytes;
    unsigned count;
    struct s3_proving proving = { .checksum = NULL };
    bool by_name;

    (void)state;
    talk_plain();
    fill(data, size, 3);
    must(store_create("s3://shared/up/aborted", &writer, &error));
    must(store_write(writer, data, size, &error));
    must_fail(store_size("s3://shared/up/aborted", &bytes, &error), SHEAF_ERR_NOT_FOUND, "");
    store_abort(writer);
    count_upload("up/", &count);
    assert_int_equal(count, 0);
    must(s3_locate("s3://shared/up/orphan of \xc3\xbc+%41", &bucket, &key, &error));
    for (unsigned i = 0; i < 3; i++) {
        must(s3_upload_begin(bucket, key, &proving, &id, mark, &error));
        free(id);
    }
    must(s3_upload_begin(bucket, "up-not/this", &proving, &id, mark, &error));
    free(id);
    count_upload("up/", &count);
    assert_int_equal(count, 3);
    must(store_clean("s3://shared/up", is_any, NULL, &by_name, &error));
    assert_false(by_name);
    count_upload("up/", &count);
    assert_int_equal(count, 0);
    count_upload("up-not/", &count);
    assert_int_equal(count, 1);
    must(store_clean("s3://shared/up-not", is_any, NULL, &by_name, &error));
    free(key);
    free(data);
}

/* ---- Who may --------------------------------------------------------------------------------- */

static void test_wrong_credentials(void **state)
{
    uint64_t bytes;

    (void)state;
    talk("S3_PLAIN", "path", "AKIANOSUCHKEY", getenv("S3_SECRET"));
    must_fail(store_size("s3://shared/x", &bytes, &error), SHEAF_ERR_ACCESS, "InvalidAccessKeyId");
    talk("S3_PLAIN", "path", getenv("S3_ACCESS"), "wrong-secret-of-ours");
    must_fail(store_size("s3://shared/x", &bytes, &error), SHEAF_ERR_ACCESS,
              "SignatureDoesNotMatch");
    assert_null(strstr(error.message, "wrong-secret-of-ours"));
    talk("S3_PLAIN", "path", NULL, NULL);
    must_fail(store_size("s3://shared/x", &bytes, &error), SHEAF_ERR_ACCESS, "no AWS credentials");
    setenv("AWS_NO_SIGN_REQUEST", "1", 1);
    remote_reset(NULL, NULL);
    must_fail(store_size("s3://shared/x", &bytes, &error), SHEAF_ERR_ACCESS, "AccessDenied");
}

static void test_untrusted_certificate(void **state)
{
    uint64_t bytes;

    (void)state;
    talk("S3_TLS", "path", getenv("S3_ACCESS"), getenv("S3_SECRET"));
    unsetenv("AWS_CA_BUNDLE");
    remote_reset(NULL, NULL);
    must_fail(store_size("s3://shared/x", &bytes, &error), SHEAF_ERR_ACCESS, "AWS_CA_BUNDLE");
}

/* Writes profiles to a file of the test. The first one is used. */
static void use_profiles(const char *role, const char *more)
{
    char path[100];
    struct buf text = BUF_INIT(4096);

    talk("S3_PLAIN", "path", NULL, NULL);
    must(buf_printf(&text, &error, "[profile role]\nrole_arn = %s\nsource_profile = keys\n%s"
                    "[profile keys]\naws_access_key_id = %s\naws_secret_access_key = %s\n",
                    getenv(role), more, getenv("S3_ACCESS"), getenv("S3_SECRET")));
    snprintf(path, sizeof(path), "%s/config", directory);
    must(store_put(path, text.data, text.size, &error));
    setenv("AWS_CONFIG_FILE", path, 1);
    setenv("AWS_PROFILE", "role", 1);
    remote_reset(NULL, NULL);
    buf_free(&text);
}

static void test_assumed_role(void **state)
{
    char *text;
    size_t size;

    (void)state;
    use_profiles("S3_ROLE_ALL", "role_session_tags = tenant=a,team=b c\n");
    must(store_put("s3://shared/role", "by role", 7, &error));
    must(store_get("s3://shared/role", 100, &text, &size, &error));
    assert_string_equal(text, "by role");
    free(text);
}

static void test_tenant(void **state)
{
    struct buf listed = BUF_INIT(MIB);
    char *text;
    size_t size;

    (void)state;
    talk_plain();
    must(store_put("s3://shared/a/dataset.json", "ours", 4, &error));
    must(store_put("s3://shared/b/dataset.json", "theirs", 6, &error));
    use_profiles("S3_ROLE_TENANT", "");
    must(store_get("s3://shared/a/dataset.json", 100, &text, &size, &error));
    assert_string_equal(text, "ours");
    free(text);
    must(store_list("s3://shared/a/", collect, &listed, &error));
    assert_int_equal(listed.size, strlen("dataset.json:4\n"));
    must_fail(store_get("s3://shared/b/dataset.json", 100, &text, &size, &error),
              SHEAF_ERR_ACCESS, "AccessDenied");
    must_fail(store_list("s3://shared/b/", collect, &listed, &error), SHEAF_ERR_ACCESS,
              "AccessDenied");
    must_fail(store_put("s3://shared/a/dataset.json", "x", 1, &error), SHEAF_ERR_ACCESS,
              "AccessDenied");
    buf_free(&listed);
}

/* Tests tokens that live for three seconds and are renewed while reads run. No read may fail. */
static void test_renewal(void **state)
{
    struct store_object *object;
    char bytes[4];
    const int64_t end_ms = credentials_now_ms() + 5000;

    (void)state;
    talk_plain();
    must(store_put("s3://shared/renewed", "1234", 4, &error));
    use_profiles("S3_ROLE_ALL", "duration_seconds = 3\n");
    must(store_open("s3://shared/renewed", &object, &error));
    while (credentials_now_ms() < end_ms) {
        memset(bytes, 0, sizeof(bytes));
        must(store_read(object, 0, bytes, 4, &error));
        assert_memory_equal(bytes, "1234", 4);
        usleep(5000);
    }
    store_close(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_tls),
        cmocka_unit_test(test_with_checksums),
        cmocka_unit_test(test_odd_keys),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_many_reads),
        cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_put_new),
        cmocka_unit_test(test_uploads),
        cmocka_unit_test(test_wrong_credentials),
        cmocka_unit_test(test_untrusted_certificate),
        cmocka_unit_test(test_assumed_role),
        cmocka_unit_test(test_tenant),
        cmocka_unit_test(test_renewal),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
