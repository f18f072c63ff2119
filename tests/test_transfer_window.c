/* SPDX-License-Identifier: MIT
 *
 * Tests the window of remote reads with simulated links. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/transfer_window.h"

#define READ_BYTES ((uint64_t)8 << 20)
/* number of reads, with 8 at once, until the first trial is due */
#define RESTED (8 * 3 * 8)

struct link {
    struct window window;
    uint64_t now_ns, stall_ns;
    uint64_t read_bytes;
    unsigned largest;           /* largest number of reads at once so far */
};

/* Consumes `reads` reads over a link that is faster with more reads at once, up to `useful`. The
 * consumer waits for `waiting` percent of the time. */
static void consume(struct link *l, unsigned reads, unsigned useful, unsigned waiting)
{
    for (unsigned i = 0; i < reads; i++) {
        const unsigned under_way = l->window.now < useful ? l->window.now : useful;
        const uint64_t took_ns = 1000000 / under_way;
        const unsigned before = l->window.now;
        bool changed;

        l->now_ns += took_ns;
        l->stall_ns += took_ns * waiting / 100;
        changed = window_took(&l->window, l->read_bytes, l->stall_ns, l->now_ns);
        assert_int_equal(changed, l->window.now != before);
        if (l->window.now > l->largest)
            l->largest = l->window.now;
    }
}

static struct link link_of(unsigned least, unsigned most)
{
    struct link l = { .now_ns = 5000000000, .read_bytes = READ_BYTES };

    window_fit(&l.window, least, most, READ_BYTES);
    assert_int_equal(l.window.now, least < most ? least : most);
    return l;
}

static void test_far_link_gets_all(void **state)
{
    struct link l = link_of(8, 32);

    (void)state;
    consume(&l, RESTED, 1000, 100);
    assert_int_equal(l.largest, 8);
    consume(&l, 4 * (8 + 16), 1000, 100);
    assert_int_equal(l.window.now, 32);
    consume(&l, 100000, 1000, 100);
    assert_int_equal(l.window.now, 32);
    assert_int_equal(l.largest, 32);
}

static void test_near_link_keeps_few(void **state)
{
    struct link l = link_of(8, 32);
    unsigned wide = 0;

    (void)state;
    consume(&l, RESTED + 4 * (8 + 16), 4, 100);
    assert_int_equal(l.largest, 16);
    for (unsigned i = 0; i < 10000; i++) {
        consume(&l, 1, 4, 100);
        wide += l.window.now != 8;
    }
    assert_int_equal(l.largest, 16);
    assert_in_range(wide, 1, 2000);         /* the window tries again, but rarely */
}

static void test_slow_link_gets_all_soon(void **state)
{
    struct link l = link_of(8, 32);

    (void)state;
    l.read_bytes = READ_BYTES / 1000;
    consume(&l, 1 + 2 * 30, 4, 100);       /* 30 reads after the first */
    assert_int_equal(l.window.now, 32);
    consume(&l, 10000, 4, 100);
    assert_int_equal(l.window.now, 32);
}

/* Each read gets 20 MB/s, which the first read shows. */
static void test_slow_link_shows_at_once(void **state)
{
    struct link l = link_of(8, 32);

    (void)state;
    l.now_ns += 420000000;
    assert_true(window_took(&l.window, READ_BYTES, 420000000, l.now_ns));
    assert_int_equal(l.window.now, 32);
}

/* The first read takes no longer than a window of reads takes over a link that is not slow. */
static void test_first_reads_of_a_near_link(void **state)
{
    struct link l = link_of(8, 32);

    (void)state;
    l.now_ns += 80000000;
    assert_false(window_took(&l.window, READ_BYTES, 80000000, l.now_ns));
    assert_int_equal(l.window.now, 8);
}

/* The first reads are small and take mostly the time of a round trip. Its 4 ms are little compared
 * with the time of a whole read. */
static void test_small_first_reads_of_a_near_link(void **state)
{
    struct link l = link_of(4, 32);

    (void)state;
    for (uint64_t bytes = 32 << 10, stall_ns = 4000000; bytes < READ_BYTES; bytes *= 8) {
        l.now_ns += 4000000;
        assert_false(window_took(&l.window, bytes, stall_ns, l.now_ns));
        stall_ns += 4000000;
    }
    assert_int_equal(l.window.now, 4);
}

/* The server is 15 ms away, and each read gets 20 MB/s. */
static void test_small_first_reads_of_a_slow_link(void **state)
{
    const uint64_t begin_ns = 5000000000;
    struct link l = link_of(4, 32);

    (void)state;
    assert_false(window_took(&l.window, 32 << 10, 17000000, begin_ns + 17000000));
    assert_false(window_took(&l.window, 256 << 10, 28000000, begin_ns + 28000000));
    assert_true(window_took(&l.window, 1 << 20, 67000000, begin_ns + 67000000));
    assert_int_equal(l.window.now, 32);
}

/* The server sends 400 MB/s, whatever the number of reads. This is not fast, but more reads would
 * not help, and touching more memory for the first time would cost much of the time. */
static void test_busy_server_keeps_few(void **state)
{
    struct link l = link_of(4, 32);
    unsigned wide = 0;

    (void)state;
    l.read_bytes = READ_BYTES / 80;
    for (unsigned i = 0; i < 10000; i++) {
        consume(&l, 1, 4, 100);
        wide += l.window.now != 4;
    }
    assert_int_equal(l.largest, 8);
    assert_in_range(wide, 1, 2000);
}

static void test_between(void **state)
{
    struct link l = link_of(8, 32);

    (void)state;
    consume(&l, RESTED + 4 * (8 + 16 + 32), 16, 100);
    assert_int_equal(l.largest, 32);
    assert_int_equal(l.window.now, 16);
}

/* Tests that a change of the link is noticed. */
static void test_link_that_becomes_far(void **state)
{
    struct link l = link_of(8, 32);

    (void)state;
    consume(&l, 100, 4, 100);
    assert_int_equal(l.window.now, 8);
    consume(&l, 1000, 1000, 100);
    assert_int_equal(l.window.now, 32);
}

static void test_slow_consumer_needs_no_more(void **state)
{
    struct link l = link_of(8, 32);

    (void)state;
    consume(&l, 10000, 1000, 1);
    assert_int_equal(l.largest, 8);
    consume(&l, RESTED + 200, 1000, 50);
    assert_int_equal(l.largest, 32);
}

/* Tests a later epoch with memory for fewer or more reads. */
static void test_other_limits(void **state)
{
    struct link l = link_of(8, 32);

    (void)state;
    consume(&l, 1000, 1000, 100);
    window_fit(&l.window, 8, 20, READ_BYTES);
    assert_int_equal(l.window.now, 20);
    consume(&l, 1000, 1000, 100);
    assert_int_equal(l.window.now, 20);
    window_fit(&l.window, 2, 3, READ_BYTES);
    assert_int_equal(l.window.now, 3);
    consume(&l, 1000, 1000, 100);
    assert_int_equal(l.window.now, 3);
    window_fit(&l.window, 24, 32, READ_BYTES);
    assert_int_equal(l.window.now, 24);
    consume(&l, 1000, 1000, 100);
    assert_int_equal(l.window.now, 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_far_link_gets_all),
        cmocka_unit_test(test_near_link_keeps_few),
        cmocka_unit_test(test_slow_link_gets_all_soon),
        cmocka_unit_test(test_slow_link_shows_at_once),
        cmocka_unit_test(test_first_reads_of_a_near_link),
        cmocka_unit_test(test_small_first_reads_of_a_near_link),
        cmocka_unit_test(test_small_first_reads_of_a_slow_link),
        cmocka_unit_test(test_busy_server_keeps_few),
        cmocka_unit_test(test_between),
        cmocka_unit_test(test_link_that_becomes_far),
        cmocka_unit_test(test_slow_consumer_needs_no_more),
        cmocka_unit_test(test_other_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
