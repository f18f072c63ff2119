/* SPDX-License-Identifier: MIT
 *
 * Tests reading from S3 and plain web servers when they fail. Each fault is a line of a table with
 * the expected result. In all cases the bytes must be right, or an error must state the reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "store/remote.h"
#include "store/store.h"
#include "tests/common_fake_s3.h"
#include "tests/common_must.h"
#include "tests/common_random.h"

#define SIZE ((size_t)300000)
#define STALL_MS 10000          /* so long that no request stalls on a slow machine */
#define SOON_MS 300             /* for tests in which requests must stall */

static struct fake_s3 s3;
static struct sheaf_error error;
static uint8_t data[SIZE];

static int start(void **state)
{
    (void)state;
    random_fill(data, sizeof(data));
    fake_s3_start(&s3);
    fake_s3_use(&s3, STALL_MS);
    fake_s3_put(&s3, "/bucket/dir/object", data, SIZE);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_s3_stop(&s3);
    return 0;
}

/* ---- Faults of a ranged read ----------------------------------------------------------------- */

struct read_case {
    struct fake_fault fault;
    int code;                   /* SHEAF_OK: the bytes are right despite the fault */
    const char *text;           /* must occur in the message */
    unsigned attempts;          /* expected number of requests; 0: any number */
};

static const struct read_case reads[] = {
    { { .kind = FAKE_STATUS, .status = 503, .code = "SlowDown", .times = 3 }, SHEAF_OK, "", 4 },
    { { .kind = FAKE_STATUS, .status = 500, .code = "InternalError", .times = 1 },
      SHEAF_OK, "", 2 },
    { { .kind = FAKE_STATUS, .status = 502, .times = 1 }, SHEAF_OK, "", 2 },
    { { .kind = FAKE_STATUS, .status = 429, .times = 1 }, SHEAF_OK, "", 2 },
    { { .kind = FAKE_STATUS, .status = 400, .code = "RequestTimeout", .times = 1 },
      SHEAF_OK, "", 2 },
    /* libcurl itself repeats a request if a kept connection is closed. */
    { { .kind = FAKE_RESET, .times = 3 }, SHEAF_OK, "", 0 },
    { { .kind = FAKE_LOSE, .times = 3 }, SHEAF_OK, "", 0 },
    { { .kind = FAKE_SILENCE, .times = 1 }, SHEAF_OK, "", 2 },
    { { .kind = FAKE_CUT, .at = 0, .times = 1 }, SHEAF_OK, "", 2 },
    { { .kind = FAKE_CUT, .at = 100000, .times = 2 }, SHEAF_OK, "", 3 },
    { { .kind = FAKE_STALL, .at = 5000, .times = 1 }, SHEAF_OK, "", 2 },
    { { .kind = FAKE_DRIP, .at = 50000, .times = 1 }, SHEAF_OK, "", 2 },
    { { .kind = FAKE_SHORT, .at = 1, .times = 1 }, SHEAF_OK, "", 2 },
    { { .kind = FAKE_SHORT, .at = 250000, .times = 1 }, SHEAF_OK, "", 2 },
    { { .kind = FAKE_WRONG_RANGE, .times = 1 }, SHEAF_OK, "", 2 },
    { { .kind = FAKE_LONG, .at = 1000, .times = 1 }, SHEAF_OK, "", 2 },
    { { .kind = FAKE_STATUS, .status = 503, .code = "SlowDown" }, SHEAF_ERR_NETWORK,
      "SlowDown: as the test wants it; gave up after 6 attempts", 6 },
    { { .kind = FAKE_RESET }, SHEAF_ERR_NETWORK, "gave up after 6 attempts", 0 },
    { { .kind = FAKE_SILENCE }, SHEAF_ERR_NETWORK, "stalled: fewer than 100 bytes in 0.3", 6 },
    { { .kind = FAKE_WRONG_RANGE }, SHEAF_ERR_CORRUPT,
      "requested bytes 1000 to 279999, the server answered \"bytes 1001-279999/300000\"", 3 },
    { { .kind = FAKE_WHOLE }, SHEAF_OK, "", 1 },
    { { .kind = FAKE_WRONG_ETAG }, SHEAF_ERR_CHANGED, "its ETag is now \"another\"", 1 },
    { { .kind = FAKE_STATUS, .status = 412, .code = "PreconditionFailed" }, SHEAF_ERR_CHANGED,
      "replaced", 1 },
    { { .kind = FAKE_STATUS, .status = 404, .code = "NoSuchKey" }, SHEAF_ERR_CHANGED,
      "removed", 1 },
    { { .kind = FAKE_STATUS, .status = 416, .code = "InvalidRange" }, SHEAF_ERR_CHANGED,
      "replaced", 1 },
    { { .kind = FAKE_STATUS, .status = 403, .code = "AccessDenied" }, SHEAF_ERR_ACCESS,
      "may not do this", 1 },
    { { .kind = FAKE_STATUS, .status = 403, .code = "InvalidObjectState" }, SHEAF_ERR_ACCESS,
      "restore it", 1 },
    { { .kind = FAKE_STATUS, .status = 400, .code = "ExpiredToken" }, SHEAF_ERR_ACCESS,
      "get new ones", 1 },
    { { .kind = FAKE_STATUS, .status = 400, .code = "SomethingNew" }, SHEAF_ERR_NETWORK,
      "status 400: SomethingNew: as the test wants it", 1 },
    { { .kind = FAKE_HEADERS }, SHEAF_ERR_CORRUPT, "headers do not end", 1 },
    { { .kind = FAKE_STATUS, .status = 301, .code = "PermanentRedirect",
        .header = "x-amz-bucket-region: eu-west-1" }, SHEAF_ERR_ARGUMENT,
      "the bucket is at another endpoint of region eu-west-1 than http", 2 },
};

static bool is_stall(enum fake_kind kind)
{
    return kind == FAKE_SILENCE || kind == FAKE_STALL || kind == FAKE_DRIP;
}

static void check_read(const struct read_case *c, const char *url)
{
    static uint8_t copy[SIZE];
    struct store_object *object;
    unsigned before, attempts;
    int code;

    fake_s3_use(&s3, is_stall(c->fault.kind) ? SOON_MS : STALL_MS);
    must(store_open(url, &object, &error));
    before = fake_server_count(s3.server, "GET", NULL);
    fake_server_add_fault(s3.server, &c->fault);
    memset(copy, 0, sizeof(copy));
    error.message[0] = '\0';
    code = store_read(object, 1000, copy, SIZE - 21000, &error);
    attempts = fake_server_count(s3.server, "GET", NULL) - before;
    fake_server_clear_faults(s3.server);
    /* With short time limits, a slow machine may cause an additional stall. */
    if (code == SHEAF_OK && is_stall(c->fault.kind))
        attempts = MIN(attempts, c->attempts);
    if (code != c->code || strstr(error.message, c->text) == NULL ||
        (c->attempts != 0 && attempts != c->attempts))
        fail_msg("fault %zd: code %d after %u attempts: %s", c - reads, code, attempts,
                 error.message);
    if (code == SHEAF_OK)
        assert_memory_equal(copy, data + 1000, SIZE - 21000);
    else if (strstr(error.message, object->url) == NULL)
        fail_msg("fault %zd: which object? %s", c - reads, error.message);
    assert_null(strchr(error.message, '\n'));
    assert_null(strstr(error.message, FAKE_SECRET));
    store_close(object);
}

static void test_s3_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(reads); i++)
        check_read(&reads[i], "s3://bucket/dir/object");
    fake_s3_use(&s3, STALL_MS);
}

/* Tests that an interrupted read continues after its last byte, and requests no byte twice. */
static void test_resume_at_byte(void **state)
{
    const struct fake_fault cut = { .kind = FAKE_CUT, .at = 60000 };
    struct store_object *object;
    uint8_t *copy = malloc(SIZE);
    const unsigned before = fake_server_count(s3.server, "GET", "dir/object");

    (void)state;
    must(store_open("s3://bucket/dir/object", &object, &error));
    fake_server_add_fault(s3.server, &cut);
    must(store_read(object, 0, copy, SIZE, &error));
    fake_server_clear_faults(s3.server);
    assert_memory_equal(copy, data, SIZE);
    /* About 60000 bytes of each response arrive, because libcurl returns the bytes before the
     * reset. */
    assert_in_range(fake_server_count(s3.server, "GET", "dir/object") - before, 5, 12);
    store_close(object);
    free(copy);
}

/* The server asks for a wait that is longer than the time limit, so the read must fail at once. */
static void test_retry_after(void **state)
{
    const struct fake_fault later = { .kind = FAKE_STATUS, .status = 503, .code = "SlowDown",
                                      .header = "Retry-After: 3600" };
    struct store_object *object;
    char byte;

    (void)state;
    must(store_open("s3://bucket/dir/object", &object, &error));
    fake_server_add_fault(s3.server, &later);
    assert_int_equal(store_read(object, 0, &byte, 1, &error), SHEAF_ERR_NETWORK);
    assert_null(strstr(error.message, "attempts"));
    fake_server_clear_faults(s3.server);
    store_close(object);
}

/* A response that drips just fast enough not to stall must end at the limit of the whole request.
 * The settings in the environment are read when the first object is opened. */
static void test_patience(void **state)
{
    const struct fake_fault drip = { .kind = FAKE_DRIP };
    struct store_object *object;
    uint8_t *copy = malloc(SIZE);

    (void)state;
    setenv("SHEAF_REQUEST_TIMEOUT", "2", 1);
    setenv("SHEAF_MIN_RATE", "1", 1);
    remote_reset(NULL, NULL);
    must(store_open("s3://bucket/dir/object", &object, &error));
    fake_server_add_fault(s3.server, &drip);
    assert_int_equal(store_read(object, 0, copy, SIZE, &error), SHEAF_ERR_NETWORK);
    assert_non_null(strstr(error.message, "the request timed out"));
    fake_server_clear_faults(s3.server);
    store_close(object);
    setenv("SHEAF_MIN_RATE", "3000", 1);
    remote_reset(NULL, NULL);
    must(store_open("s3://bucket/dir/object", &object, &error));
    assert_int_equal(remote_patience()->stall_bytes * 1000000000,
                     3000 * remote_patience()->stall_ns);
    store_close(object);
    setenv("SHEAF_REQUEST_TIMEOUT", "2m", 1);
    remote_reset(NULL, NULL);
    assert_int_equal(store_open("s3://bucket/dir/object", &object, &error), SHEAF_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "SHEAF_REQUEST_TIMEOUT: \"2m\""));
    fake_s3_use(&s3, STALL_MS);
    free(copy);
}

/* ---- Opening --------------------------------------------------------------------------------- */

static void must_not_open(const char *url, int code, const char *text)
{
    struct store_object *object;
    const int got = store_open(url, &object, &error);

    if (got != code || strstr(error.message, text) == NULL)
        fail_msg("%s: %d %s", url, got, error.message);
}

static void test_open(void **state)
{
    const struct fake_fault busy = { .kind = FAKE_STATUS, .status = 503, .times = 2 };
    struct store_object *object;

    (void)state;
    fake_server_add_fault(s3.server, &busy);
    must(store_open("s3://bucket/dir/object", &object, &error));
    assert_int_equal(object->bytes, SIZE);
    assert_string_equal(object->url, "s3://bucket/dir/object");
    store_close(object);
    fake_server_clear_faults(s3.server);
    must_not_open("s3://bucket/dir/nothing", SHEAF_ERR_NOT_FOUND, "no object has this name");
    must_not_open("s3://no-such-bucket/x", SHEAF_ERR_NOT_FOUND, "NoSuchBucket: fake: check");
    must_not_open("s3://bucket", SHEAF_ERR_ARGUMENT, "is a bucket");
    must_not_open("s3://B!/x", SHEAF_ERR_ARGUMENT, "invalid bucket name");
}

/* Tests that the message has the reason, which the response to HEAD cannot state. */
static void test_refused(void **state)
{
    (void)state;
    fake_s3_use(&s3, STALL_MS);
    setenv("AWS_SECRET_ACCESS_KEY", "another-secret", 1);
    must_not_open("s3://bucket/dir/object", SHEAF_ERR_ACCESS, "check the secret access key");
    assert_null(strstr(error.message, "another-secret"));
    fake_s3_use(&s3, STALL_MS);
    fake_s3_set(&s3, s3.clock_ms = 3600 * 1000);
    must_not_open("s3://bucket/dir/object", SHEAF_ERR_ACCESS, "this machine's clock is wrong");
    fake_s3_set(&s3, s3.clock_ms = 0);
    fake_s3_use(&s3, STALL_MS);
}

/* Before any server has responded, a request must fail early, because the address is wrong. Later
 * it must be patient. */
static void test_nobody_there(void **state)
{
    struct store_object *object;

    (void)state;
    fake_s3_use(&s3, STALL_MS);
    setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1", 1);
    must_not_open("s3://bucket/dir/object", SHEAF_ERR_NETWORK, "cannot connect");
    assert_non_null(strstr(error.message, "gave up after 5 attempts"));
    fake_s3_use(&s3, STALL_MS);
    must(store_open("s3://bucket/dir/object", &object, &error));
    store_close(object);
    must_not_open("http://127.0.0.1:1/object", SHEAF_ERR_NETWORK, "cannot connect");
    assert_non_null(strstr(error.message, "gave up after 6 attempts"));
    fake_s3_use(&s3, STALL_MS);
    setenv("AWS_ENDPOINT_URL_S3", "http://no-such-host.invalid", 1);
    must_not_open("s3://bucket/dir/object", SHEAF_ERR_NETWORK, "cannot resolve");
    fake_s3_use(&s3, STALL_MS);
}

/* ---- Many at once ---------------------------------------------------------------------------- */

struct piece {
    struct store_read read;
    pthread_mutex_t *lock;
    pthread_cond_t *done;
    unsigned *left;
};

static void piece_done(struct store_read *read)
{
    struct piece *p = (struct piece *)read;

    pthread_mutex_lock(p->lock);
    --*p->left;
    pthread_cond_signal(p->done);
    pthread_mutex_unlock(p->lock);
}

/* Starts `count` reads of equal pieces, cancels them on request, and waits for them. */
static void read_pieces(struct store_object *object, uint8_t *copy, unsigned count,
                        struct piece *pieces, bool cancel)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t done = PTHREAD_COND_INITIALIZER;
    const size_t size = SIZE / count;
    unsigned left = count;

    for (unsigned i = 0; i < count; i++) {
        pieces[i] = (struct piece){ .lock = &lock, .done = &done, .left = &left, .read = {
            .object = object, .offset = i * size, .data = copy + i * size, .size = size,
            .done = piece_done } };
        store_read_start(&pieces[i].read);
    }
    for (unsigned i = 0; cancel && i < count; i++)
        store_read_cancel(&pieces[i].read);
    pthread_mutex_lock(&lock);
    while (left != 0)
        pthread_cond_wait(&done, &lock);
    pthread_mutex_unlock(&lock);
}

static void test_many(void **state)
{
    enum { COUNT = 60 };
    static struct piece pieces[COUNT];
    uint8_t *copy = calloc(1, SIZE);
    struct store_object *object;

    (void)state;
    must(store_open("s3://bucket/dir/object", &object, &error));
    read_pieces(object, copy, COUNT, pieces, false);
    for (unsigned i = 0; i < COUNT; i++)
        assert_int_equal(pieces[i].read.code, SHEAF_OK);
    assert_memory_equal(copy, data, SIZE);
    store_close(object);
    free(copy);
}

static void test_cancel(void **state)
{
    enum { COUNT = 20 };
    const struct fake_fault silence = { .kind = FAKE_SILENCE };
    static struct piece pieces[COUNT];
    uint8_t *copy = calloc(1, SIZE);
    struct store_object *object;

    (void)state;
    must(store_open("s3://bucket/dir/object", &object, &error));
    fake_server_add_fault(s3.server, &silence);
    read_pieces(object, copy, COUNT, pieces, true);
    for (unsigned i = 0; i < COUNT; i++) {
        assert_int_equal(pieces[i].read.code, SHEAF_ERR_INTERRUPTED);
        assert_int_equal(pieces[i].read.error.code, SHEAF_ERR_INTERRUPTED);
    }
    fake_server_clear_faults(s3.server);
    store_close(object);
    free(copy);
}

static void test_edges(void **state)
{
    struct store_object *object;
    uint8_t bytes[4];

    (void)state;
    must(store_open("s3://bucket/dir/object", &object, &error));
    must(store_read(object, SIZE, bytes, 0, &error));
    must(store_read(object, SIZE - 1, bytes, 1, &error));
    assert_int_equal(bytes[0], data[SIZE - 1]);
    assert_int_equal(store_read(object, SIZE - 1, bytes, 2, &error), SHEAF_ERR_TRUNCATED);
    assert_int_equal(store_read(object, UINT64_MAX, bytes, 2, &error), SHEAF_ERR_TRUNCATED);
    store_close(object);
}

/* Tests a forked child. It has no thread of the library. Objects that the parent has opened must
 * cause an error there and not an endless wait. Objects that the child opens must work. */
static void test_fork(void **state)
{
#if !defined(__SANITIZE_THREAD__)       /* the sanitizer cannot start threads in a forked child */
    struct store_object *object, *own;
    char byte;
    int status;
    pid_t child;

    (void)state;
    if (getenv("UNDER_QEMU") != NULL)
        skip();                         /* qemu 7.2 ends a forked child that starts threads */
    must(store_open("s3://bucket/dir/object", &object, &error));
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (store_read(object, 0, &byte, 1, &error) != SHEAF_ERR_STATE)
            _exit(1);
        if (store_open("s3://bucket/dir/object", &own, &error) != SHEAF_OK ||
            store_read(own, 5, &byte, 1, &error) != SHEAF_OK || (uint8_t)byte != data[5])
            _exit(2);
        store_close(own);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    must(store_read(object, 0, &byte, 1, &error));
    store_close(object);
#else
    (void)state;
    skip();
#endif
}

/* ---- Storms ---------------------------------------------------------------------------------- */

/* Returns the number of faults: FAULTS from the environment, for long runs, or the usual number. */
static unsigned fault_count(unsigned usual)
{
    const char *text = getenv("FAULTS");

    return text != NULL ? (unsigned)strtoul(text, NULL, 10) : usual;
}

/* Causes random faults of all kinds. Every read must be right or fail, and most must not fail. */
static void test_storm(void **state)
{
    const unsigned wanted = fault_count(200);
    static struct piece pieces[30];
    uint8_t *copy = calloc(1, SIZE);
    struct store_object *object;
    const unsigned before = fake_server_faults(s3.server);
    unsigned good = 0, bad = 0;
    struct rng rng;

    (void)state;
    random_start(&rng);
    fake_s3_use(&s3, 200);
    must(store_open("s3://bucket/dir/object", &object, &error));
    fake_s3_storm(&s3, 20, rng_next(&rng));
    while (fake_server_faults(s3.server) - before < wanted) {
        memset(copy, 0, SIZE);
        read_pieces(object, copy, 30, pieces, false);
        for (unsigned i = 0; i < 30; i++) {
            good += pieces[i].read.code == SHEAF_OK;
            bad += pieces[i].read.code != SHEAF_OK;
            if (pieces[i].read.code == SHEAF_OK)
                assert_memory_equal(copy + i * 10000, data + i * 10000, 10000);
        }
    }
    fake_s3_storm(&s3, 0, 0);
    assert_true(bad * 50 < good);
    store_close(object);
    fake_s3_use(&s3, STALL_MS);
    free(copy);
}

/* ---- Plain HTTP ------------------------------------------------------------------------------ */

static void test_http(void **state)
{
    struct store_object *object;
    char url[200];
    uint64_t bytes;

    (void)state;
    fake_s3_set(&s3, s3.anonymous = true);
    fake_s3_put(&s3, "/bucket/empty", "", 0);
    snprintf(url, sizeof(url), "%s/bucket/dir/object?X-Amz-Signature=secret",
             fake_s3_endpoint(&s3));
    must(store_open(url, &object, &error));
    assert_null(strchr(object->url, '?'));
    assert_int_equal(object->bytes, SIZE);
    store_close(object);
    for (size_t i = 0; i < COUNT_OF(reads); i++)
        if (reads[i].fault.code == NULL)
            check_read(&reads[i], url);
    fake_s3_use(&s3, STALL_MS);
    snprintf(url, sizeof(url), "%s/bucket/empty", fake_s3_endpoint(&s3));
    must(store_size(url, &bytes, &error));
    assert_int_equal(bytes, 0);
    fake_s3_set(&s3, s3.anonymous = false);
    must_not_open(url, SHEAF_ERR_ACCESS, "refused (HTTP status 403)");
    fake_s3_set(&s3, s3.anonymous = true);
    snprintf(url, sizeof(url), "%s/bucket/nothing?secret", fake_s3_endpoint(&s3));
    must_not_open(url, SHEAF_ERR_NOT_FOUND, "status 404");
    assert_null(strstr(error.message, "secret"));
    assert_int_equal(store_put(url, "x", 1, &error), SHEAF_ERR_UNSUPPORTED);
    assert_null(strstr(error.message, "secret"));
    fake_s3_set(&s3, s3.anonymous = false);
}

static void test_http_without_ranges(void **state)
{
    const struct fake_fault whole = { .kind = FAKE_WHOLE };
    char url[200];

    (void)state;
    fake_s3_set(&s3, s3.anonymous = true);
    fake_server_add_fault(s3.server, &whole);
    snprintf(url, sizeof(url), "%s/bucket/dir/object", fake_s3_endpoint(&s3));
    must_not_open(url, SHEAF_ERR_UNSUPPORTED, "does not serve ranges");
    fake_server_clear_faults(s3.server);
    fake_s3_set(&s3, s3.anonymous = false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_s3_faults),
        cmocka_unit_test(test_resume_at_byte),
        cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_patience),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_nobody_there),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_storm),
        cmocka_unit_test(test_http),
        cmocka_unit_test(test_http_without_ranges),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
