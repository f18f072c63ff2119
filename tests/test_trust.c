/* SPDX-License-Identifier: MIT
 *
 * Tests where certificates are found if they are not where libcurl was built to look for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/trust.h"

#define PRESENT "/proc/self/status"
#define ABSENT "/proc/self/no-such-file"

static void test_built_in(void **state)
{
    static const char *const places[] = { PRESENT, NULL };

    (void)state;
    assert_null(trust_first("/proc/self/stat", places));
    assert_string_equal(trust_first(ABSENT, places), PRESENT);
    assert_string_equal(trust_first(NULL, places), PRESENT);
}

static void test_places(void **state)
{
    static const char *const second[] = { ABSENT, PRESENT, "/proc/self/stat", NULL };
    static const char *const none[] = { ABSENT, NULL };

    (void)state;
    assert_string_equal(trust_first(NULL, second), PRESENT);
    assert_null(trust_first(ABSENT, none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_built_in),
        cmocka_unit_test(test_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
