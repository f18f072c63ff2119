/* SPDX-License-Identifier: MIT
 *
 * Tests buckets that are not where the configuration says: in another region, which the service
 * names, or at Google's service. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "store/remote.h"
#include "store/store.h"
#include "tests/common_fake_s3.h"
#include "tests/common_must.h"
#include "tests/common_random.h"

#define SIZE ((size_t)100000)
#define STALL_MS 10000

static struct fake_s3 s3;
static struct sheaf_error error;
static uint8_t data[SIZE];

static int start(void **state)
{
    (void)state;
    random_fill(data, SIZE);
    fake_s3_start(&s3);
    fake_s3_put(&s3, "/bucket/dir/object", data, SIZE);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_s3_stop(&s3);
    return 0;
}

static void must_not_open(const char *url, int code, const char *text)
{
    struct store_object *object;

    if (store_open(url, &object, &error) != code || strstr(error.message, text) == NULL)
        fail_msg("%s: %d %s", url, error.code, error.message);
}

static int count_entry(void *context, const struct store_entry *entry)
{
    assert_string_equal(entry->name, "object");
    ++*(unsigned *)context;
    return 0;
}

static void count_notice(void *context, const char *where, const struct sheaf_error *notice)
{
    unsigned *notices = context;

    assert_string_equal(where, "s3://bucket");
    assert_non_null(strstr(notice->message, "is in region us-east-1, not eu-north-1"));
    assert_int_equal(notice->code, SHEAF_OK);
    ++*notices;
}

/* The service names the bucket's region. All further requests must go there, and a notice must
 * report this once. Reads that were begun at the old endpoint must end at the new one. */
static void test_other_region(void **state)
{
    static uint8_t copy[SIZE];
    struct store_object *object;
    unsigned notices = 0, before;

    (void)state;
    fake_s3_use(&s3, STALL_MS);
    setenv("AWS_REGION", "eu-north-1", 1);
    sheaf_on_notice(count_notice, &notices);
    before = s3.refused;
    must(store_open_known("s3://bucket/dir/object", SIZE, 0, &object, &error));
    must(store_read(object, 0, copy, SIZE, &error));
    assert_memory_equal(copy, data, SIZE);
    store_close(object);
    assert_int_equal(s3.refused - before, 1);
    must(store_open("s3://bucket/dir/object", &object, &error));
    store_close(object);
    assert_int_equal(s3.refused - before, 1);
    assert_int_equal(notices, 1);

    /* The first request is a HEAD, whose response does not name the region here. */
    fake_s3_use(&s3, STALL_MS);
    setenv("AWS_REGION", "eu-north-1", 1);
    must(store_open("s3://bucket/dir/object", &object, &error));
    store_close(object);
    assert_int_equal(notices, 2);
    sheaf_on_notice(NULL, NULL);
    fake_s3_use(&s3, STALL_MS);
}

/* Tests gs://, the same service under another name, with its own keys or without keys, and
 * read-only. */
static void test_google(void **state)
{
    static uint8_t copy[SIZE];
    struct store_object *object;
    struct store_writer *writer;
    unsigned names = 0;

    (void)state;
    fake_s3_use(&s3, STALL_MS);
    setenv("SHEAF_GS_ENDPOINT", fake_s3_endpoint(&s3), 1);
    setenv("AWS_ACCESS_KEY_ID", "another", 1);
    must_not_open("gs://bucket/dir/object", SHEAF_ERR_ACCESS, "opening gs://bucket/dir/object");
    setenv("SHEAF_GS_ACCESS_KEY_ID", FAKE_ACCESS, 1);
    remote_reset(NULL, NULL);
    must_not_open("gs://bucket/dir/object", SHEAF_ERR_ACCESS, "SHEAF_GS_SECRET_ACCESS_KEY is not");
    setenv("SHEAF_GS_SECRET_ACCESS_KEY", FAKE_SECRET, 1);
    remote_reset(NULL, NULL);
    must(store_open("gs://bucket/dir/object", &object, &error));
    assert_string_equal(object->url, "gs://bucket/dir/object");
    must(store_read(object, 0, copy, SIZE, &error));
    assert_memory_equal(copy, data, SIZE);
    store_close(object);
    must_not_open("s3://bucket/dir/object", SHEAF_ERR_ACCESS, "s3://bucket/dir/object");
    must(store_list("gs://bucket/dir/", count_entry, &names, &error));
    assert_int_equal(names, 1);
    assert_int_equal(store_create("gs://bucket/new", &writer, &error), SHEAF_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "gcloud storage cp"));
    unsetenv("SHEAF_GS_ENDPOINT");
    unsetenv("SHEAF_GS_ACCESS_KEY_ID");
    unsetenv("SHEAF_GS_SECRET_ACCESS_KEY");
    fake_s3_use(&s3, STALL_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_region),
        cmocka_unit_test(test_google),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
