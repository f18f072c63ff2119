/* SPDX-License-Identifier: MIT
 *
 * Tests error messages: one line of text that includes the reason, however long a path in it is. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

#define LONG 5000

static bool ends_with(const char *text, const char *end)
{
    return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

/* Returns a path of `size` bytes that consists of copies of `part`. The caller frees it. */
static char *long_path(const char *part, size_t size)
{
    char *path = calloc(1, size + 1);

    for (size_t i = 0; i < size; i++)
        path[i] = part[i % strlen(part)];
    return path;
}

static void test_the_reason_stays(void **state)
{
    struct sheaf_error err;

    (void)state;
    for (size_t size = 900; size < LONG; size += 37) {
        char *path = long_path("/a-directory", size);

        assert_int_equal(err_set(&err, SHEAF_ERR_EXISTS, "%s: is there already", path),
                         SHEAF_ERR_EXISTS);
        assert_true(ends_with(err.message, ": is there already"));
        assert_memory_equal(err.message, path, 300);
        assert_int_equal(err_errno(&err, ENOSPC, "%s: cannot write", path), SHEAF_ERR_IO);
        assert_true(ends_with(err.message, ": cannot write: No space left on device"));
        err_set(&err, SHEAF_ERR_CORRUPT, "record 7: found x, expected y");
        assert_int_equal(err_prefix(&err, "%s: ", path), SHEAF_ERR_CORRUPT);
        assert_true(ends_with(err.message, ": record 7: found x, expected y"));
        assert_true((strstr(err.message, "...") != NULL) == (size + 31 >= sizeof(err.message)));
        free(path);
    }
}

/* Tests that a reason stays if text is added to its message, and is cleared by a new message. */
static void test_the_reason_for_programs(void **state)
{
    struct sheaf_error err;

    (void)state;
    assert_int_equal(err_because(NULL, err_set(NULL, SHEAF_ERR_EXISTS, "x"), SHEAF_REASON_DATASET),
                     SHEAF_ERR_EXISTS);
    assert_int_equal(err_because(&err, err_set(&err, SHEAF_ERR_EXISTS, "x"), SHEAF_REASON_DATASET),
                     SHEAF_ERR_EXISTS);
    assert_int_equal(err.reason, SHEAF_REASON_DATASET);
    err_prefix(&err, "there: ");
    err_prefix(&err, "there: ");        /* a place is named once */
    err_append(&err, ": after all");
    assert_string_equal(err.message, "there: x: after all");
    assert_int_equal(err.reason, SHEAF_REASON_DATASET);
    err_set(&err, SHEAF_ERR_EXISTS, "y");
    assert_int_equal(err.reason, SHEAF_REASON_NONE);
    err.reason = SHEAF_REASON_MEMORY;
    err_errno(&err, ENOENT, "z");
    assert_int_equal(err.reason, SHEAF_REASON_NONE);
}

/* Tests that no character is cut in two, and that all but a few bytes of the room are used. */
static void test_characters_stay_whole(void **state)
{
    struct sheaf_error err;

    (void)state;
    for (size_t shift = 0; shift < 8; shift++) {
        char *path = long_path("\xe2\x82\xac", LONG / 3 * 3);

        err_set(&err, SHEAF_ERR_IO, "%.*s%s: the end", (int)shift, "12345678", path);
        assert_null(strchr(err.message, '?'));
        assert_true(ends_with(err.message, ": the end"));
        assert_true(strlen(err.message) >= sizeof(err.message) - 8);
        free(path);
    }
}

static void test_one_line_of_text(void **state)
{
    struct sheaf_error err;

    (void)state;
    err_set(&err, SHEAF_ERR_IO, "%s", "a\nb\x7f\xff");
    assert_string_equal(err.message, "a\\x0ab\\x7f\\xff");
    assert_int_equal(err_set(NULL, SHEAF_ERR_IO, "nobody asks"), SHEAF_ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_reason_stays),
        cmocka_unit_test(test_the_reason_for_programs),
        cmocka_unit_test(test_characters_stay_whole),
        cmocka_unit_test(test_one_line_of_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
