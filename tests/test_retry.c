/* SPDX-License-Identifier: MIT
 *
 * Tests the retry policy. The test provides the times and the random numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/retry.h"
#include "store/stall.h"

#define MS 1000000ull
#define HIGHEST UINT64_MAX

static const struct retry_policy policy = {
    .attempts = 5, .time_ns = 1000 * MS, .base_ns = 10 * MS, .longest_ns = 35 * MS,
};

/* Tests the wait before each further attempt, with the highest and the lowest random number. */
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

/* Tests that no attempt begins after the time limit, even if only the wait exceeds it. */
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

/* Tests that progress resets the number of attempts, but not the time. */
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

/* Tests a clock that went back. The policy must neither wait for ever nor give up. */
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

/* ---- Stalls ---------------------------------------------------------------------------------- */

/* Moves `bytes` in each millisecond for `for_ms`, and then nothing. Returns how many milliseconds
 * later the transfer counts as stalled, or 0 if it stalled earlier. */
static uint64_t stalls_after(uint64_t bytes, uint64_t for_ms)
{
    struct stall stall = { .limit_ns = 1000 * MS, .least_bytes = 1000 };
    uint64_t ms = 0;

    stall_begin(&stall, 0);
    for (; ms < for_ms; ms++) {
        stall.moved_bytes += bytes;
        if (stall_is_over(&stall, ms * MS))
            return 0;
    }
    while (!stall_is_over(&stall, ms * MS))
        ms++;
    return ms + 1 - for_ms;
}

/* A fast transfer stops at any time. This must be noticed one limit after the last byte. */
static void test_stop(void **state)
{
    (void)state;
    assert_int_equal(stalls_after(0, 0), 1001);
    for (uint64_t ms = 1; ms < 3000; ms += 97)
        assert_int_equal(stalls_after(1000, ms), 1000);
}

/* A transfer at the least rate never stalls. At half that rate it stalls after twice the limit. */
static void test_drip(void **state)
{
    struct stall slow = { .limit_ns = 1000 * MS, .least_bytes = 1000 };
    uint64_t ms = 0;

    (void)state;
    assert_in_range(stalls_after(1, 100000), 1000, 1001);
    stall_begin(&slow, 0);
    for (; !stall_is_over(&slow, ms * MS); ms++)
        slow.moved_bytes += ms % 2;
    assert_in_range(ms, 1990, 2010);
}

static void test_never_stalls(void **state)
{
    struct stall never = { .limit_ns = 0, .least_bytes = 1 };

    (void)state;
    stall_begin(&never, 5);
    assert_false(stall_is_over(&never, UINT64_MAX));
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
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_drip),
        cmocka_unit_test(test_never_stalls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
