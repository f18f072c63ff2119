/* SPDX-License-Identifier: MIT
 *
 * Tests which object names may become file names, which names collide, and how a finished copy is
 * recognised. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "modes/fetch.h"
#include "modes/safe_path.h"

static void names_that_cannot_be_files(void **state)
{
    static const char *const bad[] = {
        "", "/", "/a", "..", "../a", "a/..", "a/../b", ".", "./a", "a/.", "a//b", "a/",
        ".sheaf-partial", ".sheaf-partial/1",
    };
    static const char *const good[] = {
        "a", "a/b", "...", "..a/a..", ".a", "a\nb", "\xff", ".sheaf-partial2", "a/.sheaf-partial",
    };
    char name[600];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_non_null(safe_path_problem(bad[i]));
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_null(safe_path_problem(good[i]));
    memset(name, 'x', sizeof(name));
    name[511] = '\0';
    name[255] = '/';
    assert_null(safe_path_problem(name));
    name[255] = 'x';
    name[256] = '/';
    assert_non_null(safe_path_problem(name));
}

static int compare(const void *a, const void *b)
{
    return safe_path_compare(*(const char *const *)a, *(const char *const *)b);
}

static void what_collides_is_adjacent(void **state)
{
    const char *names[] = { "a.x", "b", "a-/c", "a/b", "a\x01", "a", "a/b/c", "a-" };
    static const char *const sorted[] = {
        "a", "a/b", "a/b/c", "a\x01", "a-", "a-/c", "a.x", "b",
    };

    (void)state;
    qsort(names, 8, sizeof(names[0]), compare);
    for (size_t i = 0; i < 8; i++)
        assert_string_equal(names[i], sorted[i]);
    assert_true(safe_path_is_below("a", "a/b"));
    assert_true(safe_path_is_below("a-", "a-/c"));
    assert_false(safe_path_is_below("a", "a"));
    assert_false(safe_path_is_below("a", "a-"));
    assert_false(safe_path_is_below("a/b", "a"));
    assert_int_equal(safe_path_compare("a/b", "a/b"), 0);
    assert_string_equal(safe_path_base("a/b/c"), "c");
    assert_string_equal(safe_path_base("c"), "c");
}

static struct stat copy_of(const struct object *o)
{
    struct timespec times[2];

    fetch_mark_times(o, times);
    return (struct stat){ .st_mode = S_IFREG | 0644, .st_size = (off_t)o->bytes,
                          .st_mtim = times[1] };
}

static void finished_copies_are_known(void **state)
{
    const struct object object = { .bytes = 7, .stamp = 0x123456789abcdef,
                                   .modified_s = 1700000000 };
    struct object other = object;
    struct stat st = copy_of(&object);

    (void)state;
    assert_true(fetch_mark_fits(&object, &st));
    assert_int_equal(st.st_mtim.tv_sec, 1700000000);
    assert_in_range(st.st_mtim.tv_nsec, 0, 999999999);
    assert_int_equal(st.st_mtim.tv_nsec % 100, 0);

    other.stamp++;                      /* replaced within the same second */
    assert_false(fetch_mark_fits(&other, &st));
    other = object;
    other.modified_s++;
    assert_false(fetch_mark_fits(&other, &st));
    other = object;
    other.bytes++;
    assert_false(fetch_mark_fits(&other, &st));
    other = object;
    other.stamp = 0;                    /* a store that states no time */
    assert_false(fetch_mark_fits(&other, &st));

    st.st_mode = S_IFLNK | 0777;
    assert_false(fetch_mark_fits(&object, &st));
    st = copy_of(&object);
    st.st_mtim.tv_nsec = 0;             /* as on a file system that stores whole seconds */
    assert_true(fetch_mark_fits(&object, &st));
}

static void without_a_time_the_stamp_is_told(void **state)
{
    const struct object object = { .bytes = 7, .stamp = 99 };
    struct stat st = copy_of(&object);

    (void)state;
    assert_true(fetch_mark_fits(&object, &st));
    st.st_mtim.tv_nsec = 0;
    assert_false(fetch_mark_fits(&object, &st));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_cannot_be_files),
        cmocka_unit_test(what_collides_is_adjacent),
        cmocka_unit_test(finished_copies_are_known),
        cmocka_unit_test(without_a_time_the_stamp_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
