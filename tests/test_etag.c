/* SPDX-License-Identifier: MIT
 *
 * Tests the interpretation of ETags in the forms in which servers send them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/bytes.h"
#include "store/etag.h"

#define DIGITS "0123456789abcdef0123456789abcdef"

/* All forms of an ETag have the same stamp. */
static void test_stamp(void **state)
{
    static const char *const forms[] = { "abc", "\"abc\"", "W/\"abc\"", "w/\"abc\"", "W/abc" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        assert_true(etag_stamp(forms[i]) == etag_stamp("\"abc\""));
        assert_int_equal(etag_is_strong(forms[i]), i < 2);
    }
    assert_false(etag_stamp("\"abd\"") == etag_stamp("\"abc\""));
}

/* An empty ETag identifies nothing. */
static void test_none(void **state)
{
    static const char *const forms[] = { NULL, "", "\"\"", "W/\"\"", "W/" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        assert_true(etag_stamp(forms[i]) == 0);
        assert_false(etag_is_strong(forms[i]));
    }
}

static void test_md5(void **state)
{
    static const char *const forms[] = { DIGITS, "\"" DIGITS "\"", "W/\"" DIGITS "\"" };
    static const char *const others[] = { NULL, "", "\"" DIGITS "-2\"", "W/", DIGITS "0" };
    uint8_t md5[MD5_BYTES];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        memset(md5, 0, sizeof(md5));
        assert_true(etag_md5(forms[i], md5));
        assert_int_equal(md5[0], 0x01);
        assert_int_equal(md5[15], 0xef);
    }
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_false(etag_md5(others[i], md5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stamp),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_md5),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
