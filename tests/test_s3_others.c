/* SPDX-License-Identifier: MIT
 *
 * Tests packing to servers whose listings differ from those of S3. If a listing has no ETags,
 * nothing of a run must be left. If a server falsely says that its keys are encoded, this must be
 * refused before anything is published. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/bytes.h"
#include "tests/common_fake_s3.h"
#include "tests/common_must.h"
#include "tests/common_tree.h"

#define STALL_MS 30000

static struct fake_s3 s3;
static struct tree tree;
static struct sheaf_error error;

static int start(void **state)
{
    (void)state;
    tree_make(&tree);
    tree_write(&tree, "src/a/one.bin", "1", 1);
    tree_write(&tree, "src/b/two.bin", "22", 2);
    fake_s3_start(&s3);
    fake_s3_use(&s3, STALL_MS);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_s3_stop(&s3);
    tree_remove(&tree);
    return 0;
}

static int pack(const char *source, const char *dest)
{
    struct sheaf_pack_options options;
    struct sheaf_pack_result result;

    sheaf_pack_options_init(&options, sizeof(options));
    options.container = SHEAF_WEBDATASET;
    options.shard_count = 2;
    return sheaf_pack(source, dest, &options, &result, &error);
}

/* Returns the number of objects whose path contains `word`. */
static size_t count_of(const char *word)
{
    size_t count = 0;

    for (const struct fake_object *o = s3.objects; o != NULL; o = o->next)
        count += strstr(o->path, word) != NULL;
    return count;
}

static void test_no_etags(void **state)
{
    (void)state;
    fake_s3_set(&s3, s3.no_listed_etags = true);
    must(pack(tree_path(&tree, "src"), "s3://bucket/set"));
    assert_int_equal(count_of("/set/shard-"), 2);
    assert_int_equal(count_of(".sheaf-partial"), 0);
    fake_s3_set(&s3, s3.no_listed_etags = false);
}

static void test_raw_destinations(void **state)
{
    static const char *const dests[] = { "s3://bucket/raw+1", "s3://bucket/raw 100%",
                                         "s3://bucket/raw \xc3\xbc" };

    (void)state;
    fake_s3_set(&s3, s3.raw_keys = true);
    for (size_t i = 0; i < COUNT_OF(dests); i++) {
        assert_int_equal(pack(tree_path(&tree, "src"), dests[i]), SHEAF_ERR_CORRUPT);
        assert_non_null(strstr(error.message, "listing"));
        assert_non_null(strstr(error.message, "encoded"));
        assert_int_equal(count_of("/raw"), 0);
    }
    fake_s3_set(&s3, s3.raw_keys = false);
}

static void test_raw_sources(void **state)
{
    (void)state;
    fake_s3_put(&s3, "/bucket/in/a/1 2.bin", "1", 1);
    fake_s3_put(&s3, "/bucket/in/a/1+2.bin", "1", 1);
    fake_s3_set(&s3, s3.raw_keys = true);
    assert_int_equal(pack("s3://bucket/in", "s3://bucket/out"), SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(error.message, "encoded"));
    assert_int_equal(count_of("/out"), 0);
    fake_s3_set(&s3, s3.raw_keys = false);
    must(pack("s3://bucket/in", "s3://bucket/out"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_etags),
        cmocka_unit_test(test_raw_destinations),
        cmocka_unit_test(test_raw_sources),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
