/* SPDX-License-Identifier: MIT
 *
 * Writing and removing only over what was seen, on the local store and on S3, with and without
 * servers that know conditions: one of several wins, and the others are told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/over.h"
#include "store/store.h"
#include "tests/common_fake_s3.h"
#include "tests/common_must.h"
#include "tests/common_tree.h"

static struct fake_s3 s3;
static struct tree tree;
static struct sheaf_error error;
static const struct store_seen nothing = { .is_there = false };

static int setup(void **state)
{
    (void)state;
    tree_make(&tree);
    fake_s3_start(&s3);
    fake_s3_use(&s3, 10000);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fake_s3_stop(&s3);
    tree_remove(&tree);
    return 0;
}

static void assert_content(const char *url, const char *expected)
{
    char *text;
    size_t size;

    must(store_get(url, 100, &text, &size, &error));
    assert_string_equal(text, expected);
    free(text);
}

static struct store_seen now;

static int put(const char *url, const char *text, const struct store_seen *seen,
               uint64_t *stamp)
{
    const int code = store_put_over(url, text, strlen(text), seen, &now, &error);

    *stamp = now.stamp;
    return code;
}

/* Whatever the store, and whatever it knows. */
static void act_in_turn(const char *url)
{
    struct store_seen first, second;
    uint64_t stamp;

    must(store_see(url, &first, &error));
    assert_false(first.is_there);
    must(put(url, "zeroth", &first, &stamp));
    first = now;
    must(put(url, "first", &first, &stamp));
    must(store_see(url, &first, &error));
    assert_true(first.is_there && first.bytes == 5);
    assert_true(first.stamp == stamp && stamp != 0);
    assert_int_equal(put(url, "other", &nothing, &stamp), SHEAF_ERR_CHANGED);
    assert_content(url, "first");
    must(put(url, "second", &first, &stamp));
    must(store_see(url, &second, &error));
    assert_true(second.stamp == stamp);
    assert_int_equal(put(url, "third", &first, &stamp), SHEAF_ERR_CHANGED);
    assert_int_equal(store_remove_over(url, &first, &error), SHEAF_ERR_CHANGED);
    assert_content(url, "second");
    must(store_remove_over(url, &second, &error));
    assert_int_equal(put(url, "fourth", &second, &stamp), SHEAF_ERR_CHANGED);
    must(store_see(url, &second, &error));
    assert_false(second.is_there);
    must(store_sync(url, &error));
}

static void one_after_the_other(void **state)
{
    (void)state;
    act_in_turn(tree_path(&tree, "file"));
    act_in_turn("s3://bucket/object");
    fake_s3_set(&s3, s3.no_conditional_put = true);
    act_in_turn("s3://bucket/object");
    assert_int_equal(tree_count(&tree, "."), 0);
}

/* Both are whole before either gets the name. */
static void meet(const char *url, size_t size)
{
    struct store_writer *writers[2];
    uint8_t *data = calloc(1, size);
    struct store_seen of[2], seen;

    for (int i = 0; i < 2; i++) {
        data[0] = (uint8_t)i;
        must(store_create(url, &writers[i], &error));
        must(store_write(writers[i], data, size, &error));
    }
    must(store_commit_over(writers[1], &nothing, &of[1], &error));
    assert_int_equal(store_commit_over(writers[0], &nothing, &of[0], &error),
                     SHEAF_ERR_CHANGED);
    must(store_see(url, &seen, &error));
    assert_true(seen.bytes == size && seen.stamp == of[1].stamp);
    free(data);
}

static void two_who_come_at_once(void **state)
{
    (void)state;
    meet(tree_path(&tree, "file"), 5000000);
    meet("s3://bucket/small", 1000);
    meet("s3://bucket/large", 20000000);
    assert_int_equal(fake_s3_uploads(&s3), 0);
}

/* Two with the same bytes are not told apart, nor is one from itself whose answer was lost. */
static void the_same_bytes_are_not_another_object(void **state)
{
    const struct fake_fault lost = { FAKE_LOSE, "PUT", "lost", .times = 2 };
    uint64_t first, second;

    (void)state;
    must(put("s3://bucket/same", "bytes", &nothing, &first));
    must(put("s3://bucket/same", "bytes", &nothing, &second));
    assert_true(first == second);
    fake_server_add_fault(s3.server, &lost);
    must(put("s3://bucket/lost", "bytes", &nothing, &first));
    assert_true(first == second);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_after_the_other),
        TEST(two_who_come_at_once),
        TEST(the_same_bytes_are_not_another_object),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
