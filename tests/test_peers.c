/* SPDX-License-Identifier: MIT
 *
 * Tests when a read counts as late compared with its peers. The test provides all times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/peers.h"

#define MS 1000000ull
#define SECOND (1000 * MS)

static void note(struct peers *p, unsigned count, uint64_t ns)
{
    while (count-- != 0)
        peers_note(p, ns);
}

/* Before enough peers have answered, a read may take five seconds. */
static void test_first_reads(void **state)
{
    struct peers p = { 0 };

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(peers_patience(&p, 0), 5 * SECOND);
        assert_int_equal(peers_patience(&p, 1), 10 * SECOND);
        peers_note(&p, 5 * MS);
    }
    assert_int_equal(peers_patience(&p, 0), SECOND);
}

/* Reads from a near server may take a second. Each further request may take twice as long, and the
 * last one has no limit. */
static void test_patience_grows(void **state)
{
    struct peers p = { 0 };

    (void)state;
    note(&p, 20, MS);
    for (unsigned times = 0; times < 5; times++)
        assert_int_equal(peers_patience(&p, times), SECOND << times);
    assert_int_equal(peers_patience(&p, 5), 0);
}

/* Reads from a server that always answers slowly are not late, even if it was faster before. */
static void test_slow_server(void **state)
{
    struct peers p = { 0 };

    (void)state;
    note(&p, 100, 10 * MS);
    note(&p, 200, 2 * SECOND);
    assert_in_range(peers_patience(&p, 0), 4 * SECOND, 4 * SECOND + 10 * MS);
    note(&p, 200, 10 * MS);
    assert_int_equal(peers_patience(&p, 0), SECOND);
}

/* A server that answers after 0.1 s and after 2 s in turn is not late after 2 s. */
static void test_uneven_server(void **state)
{
    struct peers p = { 0 };

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        note(&p, 1, 100 * MS);
        note(&p, 1, 2 * SECOND);
    }
    assert_in_range(peers_patience(&p, 0), 5 * SECOND, 7 * SECOND);
}

/* At most a quarter of many reads may be requested again, and a few more at the beginning. */
static void test_price(void **state)
{
    struct peers p = { 0 };
    unsigned paid = 0;

    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        peers_note(&p, MS);
        paid += peers_pay(&p);
    }
    assert_in_range(paid, 260, 266);
    note(&p, 8, MS);
    assert_true(peers_pay(&p));
    while (peers_pay(&p))
        ;
    assert_int_equal(peers_patience(&p, 0), 0);
    note(&p, 10000, MS);
    for (paid = 0; peers_pay(&p); paid++)
        ;
    assert_int_equal(paid, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_reads), cmocka_unit_test(test_patience_grows),
        cmocka_unit_test(test_slow_server), cmocka_unit_test(test_price),
        cmocka_unit_test(test_uneven_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
