/* SPDX-License-Identifier: MIT
 *
 * The retry policy: no clock and no dice but those given here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/retry.h"

#define MS 1000000ull
#define HIGHEST UINT64_MAX

static const struct retry_policy policy = {
    .attempts = 5, .time_ns = 1000 * MS, .base_ns = 10 * MS, .longest_ns = 35 * MS,
};

/* The wait before each further attempt, with the highest dice and the lowest. */
static void test_backoff(void **state)
{
    static const uint64_t most[] = { 10 * MS, 20 * MS, 35 * MS, 35 * MS };
    struct retry high = { 0 }, low = { 0 }, middle = { 0 };
    uint64_t wait;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        assert_true(retry_again(&policy, &high, 0, 0, HIGHEST, &wait));
        assert_int_equal(wait, most[i]);
        assert_true(retry_again(&policy, &low, 0, 0, 0, &wait));
        assert_int_equal(wait, 0);
        assert_true(retry_again(&policy, &middle, 0, 0, HIGHEST / 2, &wait));
        assert_in_range(wait, most[i] / 2 - 1, most[i] / 2 + 1);
    }
    assert_false(retry_again(&policy, &high, 0, 0, 0, &wait));
    assert_int_equal(high.total, 5);
}

static void test_one_attempt(void **state)
{
    const struct retry_policy once = { .attempts = 1, .time_ns = 1000 * MS };
    struct retry retry = { 0 };
    uint64_t wait;

    (void)state;
    assert_false(retry_again(&once, &retry, 0, 0, 0, &wait));
}

/* No attempt begins after the time is up, also not because of a long wait. */
static void test_time(void **state)
{
    struct retry late = { .began_ns = 5000 * MS }, exact = late, longer = late;
    uint64_t wait;

    (void)state;
    assert_false(retry_again(&policy, &late, 6001 * MS, 0, 0, &wait));
    assert_true(retry_again(&policy, &exact, 5990 * MS, 0, HIGHEST, &wait));
    assert_int_equal(wait, 10 * MS);
    assert_false(retry_again(&policy, &longer, 5991 * MS, 0, HIGHEST, &wait));
}

static void test_retry_after(void **state)
{
    struct retry retry = { 0 };
    uint64_t wait;

    (void)state;
    assert_true(retry_again(&policy, &retry, 0, 500 * MS, HIGHEST, &wait));
    assert_int_equal(wait, 500 * MS);
    assert_true(retry_again(&policy, &retry, 0, 1 * MS, HIGHEST, &wait));
    assert_int_equal(wait, 20 * MS);
    assert_false(retry_again(&policy, &retry, 0, 1001 * MS, 0, &wait));
}

/* Attempts are counted anew after progress; the time is not. */
static void test_progress(void **state)
{
    struct retry retry = { .began_ns = 1 };
    uint64_t wait;

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        assert_true(retry_again(&policy, &retry, 9 * i * MS, 0, HIGHEST, &wait));
        assert_int_equal(wait, 10 * MS);
        retry_progress(&retry);
    }
    assert_int_equal(retry.total, 100);
    assert_false(retry_again(&policy, &retry, 1001 * MS, 0, 0, &wait));
}

/* A clock that went back is no reason to wait for ever, nor to give up. */
static void test_clock_back(void **state)
{
    struct retry retry = { .began_ns = 1000 * MS };
    uint64_t wait;

    (void)state;
    assert_true(retry_again(&policy, &retry, 1, 0, 0, &wait));
}

static void test_no_overflow(void **state)
{
    const struct retry_policy vast = { .attempts = UINT32_MAX, .time_ns = UINT64_MAX,
                                       .base_ns = 1, .longest_ns = (uint64_t)1 << 62 };
    struct retry retry = { 0 };
    uint64_t wait, last = 0;

    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        assert_true(retry_again(&vast, &retry, 0, 0, HIGHEST, &wait));
        assert_true(wait >= last);
        last = wait;
    }
    assert_int_equal(last, (uint64_t)1 << 62);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backoff),
        cmocka_unit_test(test_one_attempt),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_clock_back),
        cmocka_unit_test(test_no_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
