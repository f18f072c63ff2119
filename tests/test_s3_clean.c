/* SPDX-License-Identifier: MIT
 *
 * Tests incomplete uploads. Our own must be aborted, including those of the cleaning itself, and no
 * others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "store/store.h"
#include "tests/common_fake_s3.h"
#include "tests/common_must.h"

#define SIZE ((size_t)9 << 20)      /* two parts */
#define STALL_MS 30000              /* so long that no request stalls on a slow machine */

static struct fake_s3 s3;
static struct sheaf_error error;
static uint8_t data[SIZE];

static int start(void **state)
{
    (void)state;
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

static int write_object(const char *url)
{
    return store_put(url, data, SIZE, &error);
}

static bool is_ours(const void *context, const char *name)
{
    return strncmp(name, context, strlen(context)) == 0;
}

static int clean(const char *url, const char *ours, bool by_name)
{
    bool is_by_name;
    const int code = store_clean(url, is_ours, ours, &is_by_name, &error);

    if (code == SHEAF_OK)
        assert_int_equal(is_by_name, by_name);
    return code;
}

static void leave_by(enum fake_kind kind, const char *url)
{
    const struct fake_fault fault = { .kind = kind, .method = "POST", .match = "uploads=",
                                      .times = 3, .at = 40 };
    const unsigned before = fake_s3_uploads(&s3);

    fake_server_clear_faults(s3.server);
    fake_server_add_fault(s3.server, &fault);
    must(write_object(url));
    fake_server_clear_faults(s3.server);
    assert_true(fake_s3_uploads(&s3) > before);
}

/* Begins uploads whose response is lost. */
static void leave_uploads(const char *url)
{
    leave_by(FAKE_LOSE, url);
}

static void test_clean(void **state)
{
    unsigned before;

    (void)state;
    leave_uploads("s3://bucket/dir/shard-1");
    leave_uploads("s3://bucket/dir/shard-2");
    before = fake_s3_uploads(&s3);
    leave_uploads("s3://bucket/dir/backup.sql.gz");
    leave_uploads("s3://bucket/dir/deeper/shard-1");
    leave_uploads("s3://bucket/dirt");
    for (unsigned page = 1; page < 1000; page += 998) {
        fake_s3_set(&s3, s3.page = page);
        must(clean("s3://bucket", "shard", false));
        must(clean(page == 1 ? "s3://bucket/dir" : "s3://bucket/dir/", "shard", false));
    }
    fake_s3_set(&s3, s3.page = 1000);
    assert_true(before >= 2);
    assert_true(fake_s3_uploads(&s3) >= 3);     /* all uploads except ours */
    must(clean("s3://bucket/dir", "backup", false));
    must(clean("s3://bucket/dir/deeper", "", false));
    must(clean("s3://bucket", "", false));
    assert_int_equal(fake_s3_uploads(&s3), 0);

    /* as if a run was killed while it cleaned */
    leave_uploads("s3://bucket/dir/.sheaf-probe");
    must(clean("s3://bucket/dir", "shard", false));
    assert_int_equal(fake_s3_uploads(&s3), 0);

    /* the response arrives, but its text is incomplete */
    leave_by(FAKE_TORN, "s3://bucket/dir/shard-1");
    must(clean("s3://bucket/dir", "shard", false));
    assert_int_equal(fake_s3_uploads(&s3), 0);
}

/* Tests a service that lists uploads only for a whole key. It must be distinguished from a service
 * without uploads. */
static void test_clean_by_name(void **state)
{
    (void)state;
    must(clean("s3://bucket/dir", "shard", false));
    fake_s3_set(&s3, s3.uploads_by_key = true);
    leave_uploads("s3://bucket/dir/shard-1");
    leave_uploads("s3://bucket/dir/shard-10");
    must(clean("s3://bucket/dir", "shard", true));
    assert_true(fake_s3_uploads(&s3) >= 2);
    must(store_clean_object("s3://bucket/dir/shard-1", &error));
    assert_true(fake_s3_uploads(&s3) >= 1);
    fake_s3_set(&s3, s3.uploads_by_key = false);
    must(store_clean_object("s3://bucket/dir/shard-1", &error));
    assert_true(fake_s3_uploads(&s3) >= 1);     /* the other upload stays here as well */
    must(store_clean_object("s3://bucket/dir/shard-10", &error));
    assert_int_equal(fake_s3_uploads(&s3), 0);
}

/* Tests the probe, a test upload that is made if a listing is empty. It must leave no upload, even
 * if the response to its beginning is lost, or if one of its requests is refused. */
static void test_probe(void **state)
{
    static const struct {
        struct fake_fault fault;
        int code;
    } cases[] = {
        { { .kind = FAKE_LOSE, .method = "POST", .match = "uploads=", .times = 1 }, SHEAF_OK },
        { { .kind = FAKE_TORN, .method = "POST", .match = "uploads=", .times = 1, .at = 40 },
          SHEAF_OK },
        { { .kind = FAKE_LOSE, .method = "DELETE", .times = 1 }, SHEAF_OK },
        { { .kind = FAKE_STATUS, .status = 403, .code = "AccessDenied", .method = "DELETE",
            .times = 1 }, SHEAF_ERR_ACCESS },
        { { .kind = FAKE_STATUS, .status = 403, .code = "AccessDenied", .method = "GET",
            .match = "uploads=", .skip = 1, .times = 1 }, SHEAF_ERR_ACCESS },
    };
    const struct fake_fault lose = cases[0].fault;

    (void)state;
    for (unsigned by_key = 0; by_key < 2; by_key++) {
        fake_s3_set(&s3, s3.uploads_by_key = by_key != 0);
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            fake_server_add_fault(s3.server, &lose);        /* so that there are two uploads */
            fake_server_add_fault(s3.server, &cases[i].fault);
            assert_int_equal(clean("s3://bucket/probed", "", by_key != 0), cases[i].code);
            fake_server_clear_faults(s3.server);
            if (fake_s3_uploads(&s3) != 0)
                fail_msg("case %zu leaves %u uploads", i, fake_s3_uploads(&s3));
        }
    }
    fake_s3_set(&s3, s3.uploads_by_key = false);
}

/* Leaves an upload without a writer. From now on, the service confirms aborts without doing
 * them. */
static void leave_one(const char *url)
{
    const struct fake_fault idle = { .kind = FAKE_STATUS, .status = 204, .method = "DELETE" };
    struct store_writer *writer;

    must(store_create(url, &writer, &error));
    must(store_write(writer, data, SIZE, &error));
    fake_server_add_fault(s3.server, &idle);
    store_abort(writer);
    assert_int_equal(fake_s3_uploads(&s3), 1);
}

/* Tests a packer of a program's samples. It knows the names of its shards only at its end. */
static void test_clean_by_name_at_the_end(void **state)
{
    const struct sheaf_field field = { .name = "bin", .data = "x", .size = 1 };
    const struct sheaf_sample sample = { .key = "a", .fields = &field, .field_count = 1 };
    struct sheaf_pack_options options;
    struct sheaf_packer *packer;

    (void)state;
    fake_s3_set(&s3, s3.uploads_by_key = true);
    leave_one("s3://bucket/made/shard-000000.tfrecord");
    fake_server_clear_faults(s3.server);
    sheaf_pack_options_init(&options, sizeof(options));
    options.container = SHEAF_TFRECORD;
    options.overwrite = 1;
    must(sheaf_packer_open("s3://bucket/made", &options, &packer, &error));
    must(sheaf_packer_append(packer, &sample));
    must(sheaf_packer_finish(packer, NULL));
    sheaf_packer_free(packer);
    assert_int_equal(fake_s3_uploads(&s3), 0);
    fake_s3_set(&s3, s3.uploads_by_key = false);
}

/* Tests an abort that is confirmed but has no effect. The result must be an error and not an
 * endless loop. */
static void test_clean_in_vain(void **state)
{
    (void)state;
    leave_one("s3://bucket/kept");
    assert_int_equal(clean("s3://bucket", "", false), SHEAF_ERR_NETWORK);
    assert_non_null(strstr(error.message, "s3://bucket/kept: its unfinished upload is still"));
    fake_server_clear_faults(s3.server);
    must(clean("s3://bucket", "", false));
    assert_int_equal(fake_s3_uploads(&s3), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_clean_by_name),
        cmocka_unit_test(test_probe),
        cmocka_unit_test(test_clean_by_name_at_the_end),
        cmocka_unit_test(test_clean_in_vain),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
