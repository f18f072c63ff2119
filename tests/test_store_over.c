/* SPDX-License-Identifier: MIT
 *
 * Tests conditional writes and removals, on the local store and on S3, with and without servers
 * that support conditions. Of several writers one must win, and the others must get an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Writes and removes an object in turn. The result must be the same in every store. */
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

/* For readers, a link to nowhere is not a file, so a writer who saw no file replaces the link. A
 * link to a file is that file. */
static void a_link_to_nowhere_is_replaced(void **state)
{
    const char *url = tree_path(&tree, "link");
    struct store_seen seen;
    uint64_t stamp;

    (void)state;
    assert_int_equal(symlink("nowhere", url), 0);
    must(store_see(url, &seen, &error));
    assert_false(seen.is_there);
    must(put(url, "whole", &seen, &stamp));
    assert_content(url, "whole");
    assert_int_equal(unlink(url), 0);
    must(put(tree_path(&tree, "there"), "there", &nothing, &stamp));
    assert_int_equal(symlink("there", url), 0);
    assert_int_equal(put(url, "other", &nothing, &stamp), SHEAF_ERR_CHANGED);
    assert_content(url, "there");
    assert_int_equal(unlink(url), 0);
    assert_int_equal(unlink(tree_path(&tree, "there")), 0);
}

/* Lets two writers finish their objects before either of them commits. */
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

/* Tests that two writes of the same bytes both succeed, and so does a repeated write whose response
 * was lost. */
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

/* Writes "whole" over the object that was seen, while the server stores a wrong byte at the first
 * attempt. */
static void put_damaged(const char *url, const struct store_seen *seen)
{
    const struct fake_fault damage = { FAKE_WRONG_BYTES, "PUT", "damaged", .times = 1 };
    const unsigned before = fake_server_count(s3.server, "PUT", "damaged");
    uint64_t stamp;

    fake_server_add_fault(s3.server, &damage);
    must(put(url, "whole", seen, &stamp));
    fake_server_clear_faults(s3.server);
    assert_content(url, "whole");
    assert_int_equal(fake_server_count(s3.server, "PUT", "damaged") - before, 2);
}

/* Tests that the damaged object of a write's own first attempt does not make the second attempt
 * fail. The object of another writer must make it fail. */
static void a_damaged_write_is_repeated(void **state)
{
    const struct fake_fault damage = { FAKE_WRONG_BYTES, "PUT", "damaged", .times = 1 };
    struct store_seen first;
    uint64_t stamp;

    (void)state;
    must(put("s3://bucket/damaged", "first", &nothing, &stamp));
    first = now;
    put_damaged("s3://bucket/damaged", &first);
    put_damaged("s3://bucket/damaged-new", &nothing);
    fake_server_add_fault(s3.server, &damage);
    assert_int_equal(put("s3://bucket/damaged", "other", &first, &stamp), SHEAF_ERR_CHANGED);
    assert_int_equal(put("s3://bucket/damaged", "other", &nothing, &stamp), SHEAF_ERR_CHANGED);
    fake_server_clear_faults(s3.server);
    assert_content("s3://bucket/damaged", "whole");
}

/* The response to a removal is lost, so the next attempt finds no object. */
static void a_removal_whose_answer_was_lost(void **state)
{
    const struct fake_fault lost = { FAKE_LOSE, "DELETE", "removed", .times = 2 };
    struct store_seen seen;
    uint64_t stamp;

    (void)state;
    must(put("s3://bucket/removed", "bytes", &nothing, &stamp));
    seen = now;
    fake_server_add_fault(s3.server, &lost);
    must(store_remove_over("s3://bucket/removed", &seen, &error));
    fake_server_clear_faults(s3.server);
    assert_null(fake_s3_object(&s3, "/bucket/removed"));
}

/* A response that does not state the size of the object may be damaged, so it must be requested
 * again. */
static void an_answer_without_a_size(void **state)
{
    const struct fake_fault range = { FAKE_WRONG_RANGE, "GET", "sized", .times = 2 };
    const struct fake_fault length = { FAKE_NO_LENGTH, "HEAD", "sized", .times = 2 };
    const struct fake_fault always = { FAKE_WRONG_RANGE, "GET", "sized", .times = 0 };
    struct store_seen seen;
    uint64_t stamp, bytes;

    (void)state;
    must(put("s3://bucket/sized", "12345", &nothing, &stamp));
    fake_server_add_fault(s3.server, &range);
    must(store_see("s3://bucket/sized", &seen, &error));
    assert_true(seen.is_there && seen.bytes == 5 && seen.stamp == stamp);
    fake_server_clear_faults(s3.server);
    fake_server_add_fault(s3.server, &length);
    must(store_size("s3://bucket/sized", &bytes, &error));
    assert_int_equal(bytes, 5);
    fake_server_clear_faults(s3.server);
    fake_server_add_fault(s3.server, &always);
    assert_int_equal(store_see("s3://bucket/sized", &seen, &error), SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(error.message, "has no size; gave up after 6 attempts"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_after_the_other),
        TEST(a_link_to_nowhere_is_replaced),
        TEST(two_who_come_at_once),
        TEST(the_same_bytes_are_not_another_object),
        TEST(a_damaged_write_is_repeated),
        TEST(a_removal_whose_answer_was_lost),
        TEST(an_answer_without_a_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
