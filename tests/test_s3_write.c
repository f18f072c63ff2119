/* SPDX-License-Identifier: MIT
 *
 * Tests writing to S3 when it fails. An object must exist completely or not at all, and no
 * invisible data that costs money may be left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "store/over.h"
#include "store/store.h"
#include "tests/common_fake_s3.h"
#include "tests/common_must.h"
#include "tests/common_random.h"

#define MIB ((size_t)1 << 20)
#define SIZE (18 * MIB + 4321)      /* three parts */
#define STALL_MS 30000              /* so long that no request stalls on a slow machine */
#define SOON_MS 500                 /* for tests in which requests must stall */

/* An emulated client needs longer than SOON_MS to compute checksums. */
static unsigned soon_ms(void)
{
    return getenv("UNDER_QEMU") != NULL ? 6 * SOON_MS : SOON_MS;
}

static struct fake_s3 s3;
static struct sheaf_error error;
static uint8_t data[SIZE];

static int start(void **state)
{
    (void)state;
    random_fill(data, sizeof(data));
    fake_s3_start(&s3);
    fake_s3_use(&s3, STALL_MS);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_s3_stop(&s3);
    return 0;
}

/* Writes `size` bytes in pieces whose ends are not the ends of parts. Returns the result of the
 * first call that fails. */
static int write_object(const char *url, size_t size)
{
    struct store_writer *writer;
    int code = store_create(url, &writer, &error);

    if (code != SHEAF_OK)
        return code;
    for (size_t at = 0; at < size && code == SHEAF_OK; at += 1000003)
        code = store_write(writer, data + at, MIN(size - at, 1000003), &error);
    if (code == SHEAF_OK)
        return store_commit(writer, &error);
    store_abort(writer);
    return code;
}

static void check_stored(const char *path, size_t size)
{
    const struct fake_object *o = fake_s3_object(&s3, path);

    assert_non_null(o);
    assert_int_equal(o->size, size);
    assert_memory_equal(o->data, data, size);
    assert_int_equal(fake_s3_uploads(&s3), 0);
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

static void test_sizes(void **state)
{
    static const struct { size_t size; unsigned parts; } cases[] = {
        { 0, 0 }, { 1, 0 }, { 8 * MIB - 1, 0 }, { 8 * MIB, 0 }, { 8 * MIB + 1, 2 },
        { 16 * MIB, 2 }, { 16 * MIB + 1, 3 }, { SIZE, 3 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const unsigned before = fake_server_count(s3.server, "PUT", "partNumber=");

        must(write_object("s3://bucket/a b/sizes", cases[i].size));
        check_stored("/bucket/a b/sizes", cases[i].size);
        assert_int_equal(fake_server_count(s3.server, "PUT", "partNumber=") - before,
                         cases[i].parts);
    }
}

/* Tests that the old object stays until the new one replaces it. */
static void test_replace(void **state)
{
    struct store_writer *writer;

    (void)state;
    fake_s3_put(&s3, "/bucket/replaced", "old", 3);
    must(store_create("s3://bucket/replaced", &writer, &error));
    must(store_write(writer, data, SIZE, &error));
    assert_memory_equal(fake_s3_object(&s3, "/bucket/replaced")->data, "old", 3);
    must(store_commit(writer, &error));
    check_stored("/bucket/replaced", SIZE);
}

static void test_abort(void **state)
{
    struct store_writer *writer;

    (void)state;
    must(store_create("s3://bucket/aborted", &writer, &error));
    store_abort(writer);
    must(store_create("s3://bucket/aborted", &writer, &error));
    must(store_write(writer, data, SIZE, &error));
    store_abort(writer);
    assert_null(fake_s3_object(&s3, "/bucket/aborted"));
    assert_int_equal(fake_s3_uploads(&s3), 0);
}

/* Aborts while the server responds to no part. The abort must not wait for the parts. */
static void test_abort_stalled(void **state)
{
    const struct fake_fault silence = { .kind = FAKE_SILENCE, .method = "PUT" };
    const unsigned before = fake_server_count(s3.server, "PUT", NULL);
    struct store_writer *writer;

    (void)state;
    fake_server_add_fault(s3.server, &silence);
    must(store_create("s3://bucket/stalled", &writer, &error));
    must(store_write(writer, data, SIZE, &error));
    store_abort(writer);
    fake_server_clear_faults(s3.server);
    assert_in_range(fake_server_count(s3.server, "PUT", NULL) - before, 0, 2);
    assert_null(fake_s3_object(&s3, "/bucket/stalled"));
    assert_int_equal(fake_s3_uploads(&s3), 0);
}

/* ---- Faults ---------------------------------------------------------------------------------- */

struct write_case {
    struct fake_fault fault;
    size_t size;
    int code;
    const char *text;
    bool visible;               /* whether the object exists although the write failed */
};

#define PART .method = "PUT", .match = "partNumber=2"
#define ANY_PART .method = "PUT", .match = "partNumber="
#define WHOLE .method = "PUT", .match = "/bucket/faulty?"
#define BEGIN .method = "POST", .match = "uploads="
#define COMPLETE .method = "POST", .match = "uploadId="

static const struct write_case writes[] = {
    { { .kind = FAKE_STATUS, .status = 503, .code = "SlowDown", .times = 3, PART }, SIZE,
      SHEAF_OK, "", true },
    { { .kind = FAKE_RESET, .times = 2, ANY_PART }, SIZE, SHEAF_OK, "", true },
    { { .kind = FAKE_LOSE, .times = 3, ANY_PART }, SIZE, SHEAF_OK, "", true },
    { { .kind = FAKE_SILENCE, .times = 1, PART }, SIZE, SHEAF_OK, "", true },
    { { .kind = FAKE_WRONG_BYTES, .times = 1, PART }, SIZE, SHEAF_OK, "", true },
    { { .kind = FAKE_STATUS, .status = 400, .code = "BadDigest", .times = 1, PART }, SIZE,
      SHEAF_OK, "", true },
    { { .kind = FAKE_STATUS, .status = 500, .code = "InternalError", .times = 2, BEGIN }, SIZE,
      SHEAF_OK, "", true },
    { { .kind = FAKE_STATUS, .status = 503, .times = 2, COMPLETE }, SIZE, SHEAF_OK, "", true },
    { { .kind = FAKE_LOSE, .times = 1, COMPLETE }, SIZE, SHEAF_OK, "", true },
    { { .kind = FAKE_CUT, .at = 20, .times = 1, COMPLETE }, SIZE, SHEAF_OK, "", true },
    { { .kind = FAKE_TORN, .at = 20, .times = 1, COMPLETE }, SIZE, SHEAF_OK, "", true },
    { { .kind = FAKE_TORN, .at = 20, COMPLETE }, SIZE, SHEAF_OK, "", true },
    { { .kind = FAKE_ERROR_IN_200, .code = "InternalError", .times = 2, COMPLETE }, SIZE,
      SHEAF_OK, "", true },
    { { .kind = FAKE_WRONG_BYTES, .times = 1, WHOLE }, MIB, SHEAF_OK, "", true },
    { { .kind = FAKE_LOSE, .times = 2, WHOLE }, MIB, SHEAF_OK, "", true },
    { { .kind = FAKE_STATUS, .status = 503, .times = 2, WHOLE }, MIB, SHEAF_OK, "", true },

    { { .kind = FAKE_WRONG_BYTES, PART }, SIZE, SHEAF_ERR_CORRUPT, "the store has MD5", false },
    { { .kind = FAKE_STATUS, .status = 503, .code = "SlowDown", PART }, SIZE,
      SHEAF_ERR_NETWORK, "gave up after 6 attempts", false },
    { { .kind = FAKE_STATUS, .status = 403, .code = "AccessDenied", ANY_PART }, SIZE,
      SHEAF_ERR_ACCESS, "may not do this", false },
    { { .kind = FAKE_STATUS, .status = 403, .code = "AccessDenied", BEGIN }, SIZE,
      SHEAF_ERR_ACCESS, "may not do this", false },
    { { .kind = FAKE_STATUS, .status = 404, .code = "NoSuchUpload", COMPLETE }, SIZE,
      SHEAF_ERR_NOT_FOUND, "NoSuchUpload", false },
    { { .kind = FAKE_ERROR_IN_200, .code = "InternalError", COMPLETE }, SIZE,
      SHEAF_ERR_NETWORK, "InternalError: fake; gave up", false },
    { { .kind = FAKE_ERROR_IN_200, .code = "InvalidPart", COMPLETE }, SIZE,
      SHEAF_ERR_NETWORK, "InvalidPart", false },
    { { .kind = FAKE_STATUS, .status = 400, .code = "EntityTooLarge", COMPLETE }, SIZE,
      SHEAF_ERR_LIMIT, "EntityTooLarge", false },
    { { .kind = FAKE_STATUS, .status = 403, .code = "QuotaExceeded", WHOLE }, MIB,
      SHEAF_ERR_LIMIT, "QuotaExceeded", false },
};

static void test_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(writes); i++) {
        const struct write_case *c = &writes[i];
        int code;

        fake_s3_use(&s3, c->fault.kind == FAKE_SILENCE ? soon_ms() : STALL_MS);
        must(store_remove("s3://bucket/faulty", &error));
        fake_server_add_fault(s3.server, &c->fault);
        error.message[0] = '\0';
        code = write_object("s3://bucket/faulty", c->size);
        fake_server_clear_faults(s3.server);
        if (code != c->code || strstr(error.message, c->text) == NULL)
            fail_msg("fault %zu: code %d: %s", i, code, error.message);
        if (code != SHEAF_OK)
            assert_non_null(strstr(error.message, "s3://bucket/faulty"));
        assert_int_equal(fake_s3_uploads(&s3), 0);
        if (c->visible)
            check_stored("/bucket/faulty", c->size);
        else
            assert_null(fake_s3_object(&s3, "/bucket/faulty"));
    }
}

/* The object that appears is not made of the parts that were sent. The check at the end must notice
 * this. */
static void test_wrong_object(void **state)
{
    const struct fake_fault size = { .kind = FAKE_SHORT, .at = 5, .method = "HEAD" };
    const struct fake_fault etag = { .kind = FAKE_WRONG_PARTS, .method = "HEAD" };

    (void)state;
    fake_server_add_fault(s3.server, &size);
    assert_int_equal(write_object("s3://bucket/wrong", SIZE), SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(error.message, "bytes, 18878689 were written"));
    fake_server_clear_faults(s3.server);
    fake_server_add_fault(s3.server, &etag);
    assert_int_equal(write_object("s3://bucket/wrong", SIZE), SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(error.message, "its parts make ETag"));
    fake_server_clear_faults(s3.server);
}

/* The response to CompleteMultipartUpload is lost, and the upload no longer exists when the request
 * is repeated. Neither an ETag nor a checksum shows who wrote the object, but its mark does. */
static void test_lost_complete_with_kms(void **state)
{
    const struct fake_fault lose = { .kind = FAKE_LOSE, .method = "POST", .match = "uploadId=",
                                     .times = 1 };

    (void)state;
    fake_s3_set(&s3, s3.kms = true);
    must(write_object("s3://bucket/lost", MIB));
    fake_server_add_fault(s3.server, &lose);
    must(write_object("s3://bucket/lost", SIZE));
    fake_server_clear_faults(s3.server);
    check_stored("/bucket/lost", SIZE);
    fake_s3_set(&s3, s3.kms = false);
}

/* The upload does not exist, and there is an object of the right size from an earlier upload. It
 * must not be taken for the new one. */
static void test_unproven(void **state)
{
    const struct fake_fault gone = { .kind = FAKE_STATUS, .status = 404, .code = "NoSuchUpload",
                                     .method = "POST", .match = "uploadId=" };

    (void)state;
    fake_s3_set(&s3, s3.kms = true);
    must(write_object("s3://bucket/unproven", SIZE));
    fake_server_add_fault(s3.server, &gone);
    assert_int_equal(write_object("s3://bucket/unproven", SIZE), SHEAF_ERR_NOT_FOUND);
    fake_server_clear_faults(s3.server);
    fake_s3_set(&s3, s3.kms = false);
}

/* Tests a slow link. The kernel is still sending long after it has accepted the last byte. This
 * must not count as a stall. */
static void test_slow_link(void **state)
{
    struct fake_s3 slow;

    (void)state;
    fake_s3_start(&slow);
    fake_server_read_slowly(slow.server, 2500);
    fake_s3_use(&slow, 2 * soon_ms());
    must(write_object("s3://bucket/slow", 8 * MIB));
    assert_int_equal(fake_server_count(slow.server, "PUT", NULL), 1);
    fake_s3_stop(&slow);
    fake_s3_use(&s3, STALL_MS);
}

/* ---- Services that differ -------------------------------------------------------------------- */

static void test_etag_is_no_md5(void **state)
{
    (void)state;
    fake_s3_set(&s3, s3.kms = true);
    must(write_object("s3://bucket/kms", SIZE));
    check_stored("/bucket/kms", SIZE);
    must(write_object("s3://bucket/kms", MIB));
    check_stored("/bucket/kms", MIB);
    fake_s3_set(&s3, s3.kms = false);
}

static void test_silent_complete(void **state)
{
    (void)state;
    fake_s3_set(&s3, s3.empty_complete = true);
    must(write_object("s3://bucket/silent", SIZE));
    check_stored("/bucket/silent", SIZE);
    fake_s3_set(&s3, s3.empty_complete = false);
}

static void test_checksums(void **state)
{
    (void)state;
    fake_s3_use(&s3, STALL_MS);
    setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "when_supported", 1);
    must(write_object("s3://bucket/checked", 9));
    check_stored("/bucket/checked", 9);
    fake_s3_use(&s3, STALL_MS);
}

/* Tests that the checksum in a response counts, from the first response on, whatever the ETags
 * are. */
static void test_checksums_before_etags(void **state)
{
    (void)state;
    setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "when_supported", 1);
    fake_s3_set(&s3, s3.kms = s3.hides_kms = true);
    must(write_object("s3://bucket/odd", MIB));
    check_stored("/bucket/odd", MIB);
    must(write_object("s3://bucket/odd", SIZE));
    check_stored("/bucket/odd", SIZE);
    fake_s3_set(&s3, s3.kms = s3.hides_kms = false);
    fake_s3_use(&s3, STALL_MS);
}

/* A service that ignores checksums stores whatever arrives. Then the ETags must show damage, as if
 * no checksum had been sent. */
static void test_ignored_checksums(void **state)
{
    const struct fake_fault damage = { .kind = FAKE_WRONG_BYTES, .method = "PUT", .times = 1 };
    static const size_t sizes[] = { 9, MIB, SIZE };

    (void)state;
    setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "when_supported", 1);
    for (size_t i = 0; i < 2 * COUNT_OF(sizes); i++) {
        fake_s3_set(&s3, s3.no_checksums = i >= COUNT_OF(sizes));
        fake_server_add_fault(s3.server, &damage);
        must(write_object("s3://bucket/ignored", sizes[i % COUNT_OF(sizes)]));
        fake_server_clear_faults(s3.server);
        check_stored("/bucket/ignored", sizes[i % COUNT_OF(sizes)]);
    }
    fake_s3_set(&s3, s3.no_checksums = false);
    fake_s3_use(&s3, STALL_MS);
}

/* ---- Only if it is new ----------------------------------------------------------------------- */

/* Writes an object only if no object has its name. */
static int put_new(const char *url, const void *bytes, size_t size)
{
    const struct store_seen none = { .is_there = false };
    struct store_seen now;

    return store_put_over(url, bytes, size, &none, &now, &error);
}

static void put_new_cases(void)
{
    must(store_remove("s3://bucket/manifest", &error));
    must(put_new("s3://bucket/manifest", data, 100));
    check_stored("/bucket/manifest", 100);
    assert_int_equal(put_new("s3://bucket/manifest", "other", 5),
                     SHEAF_ERR_CHANGED);
    check_stored("/bucket/manifest", 100);
}

static void test_put_new(void **state)
{
    (void)state;
    put_new_cases();
    fake_s3_set(&s3, s3.no_conditional_put = true);
    put_new_cases();
    fake_s3_set(&s3, s3.no_conditional_put = false);
}

/* The response to a write is lost. When the write is repeated, the object must be recognised as our
 * own. */
static void test_put_new_lost(void **state)
{
    /* libcurl itself repeats a request if a kept connection is closed, so the response is lost
     * twice. */
    const struct fake_fault lose = { .kind = FAKE_LOSE, .method = "PUT", .times = 2 };

    (void)state;
    must(store_remove("s3://bucket/manifest", &error));
    fake_server_add_fault(s3.server, &lose);
    must(put_new("s3://bucket/manifest", data, 100));
    fake_server_clear_faults(s3.server);
    check_stored("/bucket/manifest", 100);
    fake_server_add_fault(s3.server, &lose);
    assert_int_equal(put_new("s3://bucket/manifest", data + 1, 100),
                     SHEAF_ERR_CHANGED);
    fake_server_clear_faults(s3.server);
    check_stored("/bucket/manifest", 100);
}

/* ---- Listings -------------------------------------------------------------------------------- */

static int collect(void *context, const struct store_entry *entry)
{
    return buf_printf(context, NULL, "%s:%llu\n", entry->name, (unsigned long long)entry->bytes);
}

static int stop_at_once(void *context, const struct store_entry *entry)
{
    (void)entry;
    ++*(unsigned *)context;
    return 7;
}

static void test_list_pages(void **state)
{
    static const char *const names[] = { ".hidden", "a", "b c", "d+e", "f%20", "sub/x", "\u00fc" };
    const struct fake_fault busy = { .kind = FAKE_STATUS, .status = 503, .skip = 1, .times = 2 };
    struct buf found = BUF_INIT(1000);
    unsigned calls = 0;
    char path[100];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(path, sizeof(path), "/bucket/list/%s", names[i]);
        fake_s3_put(&s3, path, "12", 2);
    }
    fake_s3_set(&s3, s3.page = 2);
    fake_server_add_fault(s3.server, &busy);
    must(store_list("s3://bucket/list", collect, &found, &error));
    fake_server_clear_faults(s3.server);
    must(buf_append(&found, "", 1, &error));
    assert_string_equal(found.data, "a:2\nb c:2\nd+e:2\nf%20:2\n\u00fc:2\n");
    found.size = 0;
    must(store_walk("s3://bucket/list", collect, &found, &error));
    must(buf_append(&found, "", 1, &error));
    assert_string_equal(found.data, ".hidden:2\na:2\nb c:2\nd+e:2\nf%20:2\nsub/x:2\n\u00fc:2\n");
    assert_int_equal(store_list("s3://bucket/list", stop_at_once, &calls, &error), 7);
    assert_int_equal(calls, 1);
    fake_s3_set(&s3, s3.page = 1000);
    buf_free(&found);
}

/* ---- Storms ---------------------------------------------------------------------------------- */

static bool is_any(const void *context, const char *name)
{
    (void)context, (void)name;
    return true;
}

static void test_storm(void **state)
{
    const char *text = getenv("FAULTS");
    const unsigned usual = getenv("QUICK") != NULL ? 12 : 40;
    const unsigned wanted = text != NULL ? (unsigned)strtoul(text, NULL, 10) : usual;
    const unsigned before = fake_server_faults(s3.server);
    unsigned good = 0, bad = 0;
    struct rng rng;

    (void)state;
    random_start(&rng);
    fake_s3_use(&s3, soon_ms());
    while (fake_server_faults(s3.server) - before < wanted) {
        int code;

        must(store_remove("s3://bucket/storm", &error));
        fake_s3_storm(&s3, 20, rng_next(&rng));
        code = write_object("s3://bucket/storm", SIZE);
        fake_s3_storm(&s3, 0, 0);
        good += code == SHEAF_OK;
        bad += code != SHEAF_OK;
        /* uploads whose response was lost */
        must(store_clean("s3://bucket", is_any, NULL, NULL, &error));
        if (code == SHEAF_OK || fake_s3_object(&s3, "/bucket/storm") != NULL)
            check_stored("/bucket/storm", SIZE);
    }
    assert_true(bad <= good);
    fake_s3_use(&s3, STALL_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_replace),
        cmocka_unit_test(test_abort),
        cmocka_unit_test(test_abort_stalled),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_wrong_object),
        cmocka_unit_test(test_lost_complete_with_kms),
        cmocka_unit_test(test_unproven),
        cmocka_unit_test(test_slow_link),
        cmocka_unit_test(test_etag_is_no_md5),
        cmocka_unit_test(test_silent_complete),
        cmocka_unit_test(test_checksums),
        cmocka_unit_test(test_checksums_before_etags),
        cmocka_unit_test(test_ignored_checksums),
        cmocka_unit_test(test_put_new),
        cmocka_unit_test(test_put_new_lost),
        cmocka_unit_test(test_list_pages),
        cmocka_unit_test(test_storm),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
