/* SPDX-License-Identifier: MIT
 *
 * Tests the shares of hosts in an epoch. Each object must belong to one host, all hosts must agree,
 * and the order must differ between epochs. Also tests the names of a manifest's objects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "modes/share.h"
#include "tests/common_random.h"

#define MOST 500

/* Collects the shares of all hosts, and checks that each object occurs once. */
static void gather(bool shuffle, uint64_t seed, uint64_t epoch, uint32_t hosts, size_t count,
                   uint32_t *first_of_host)
{
    unsigned seen[MOST] = { 0 };
    uint32_t order[MOST];
    size_t sum = 0;

    for (uint32_t host = 0; host < hosts; host++) {
        const struct share share = { shuffle, seed, host, hosts };
        const size_t size = share_size(&share, count);

        assert_true(size == count / hosts || size == count / hosts + 1);
        share_order(&share, epoch, order, count);
        for (size_t i = 0; i < size; i++) {
            assert_true(order[i] < count);
            seen[order[i]]++;
        }
        if (size != 0)
            first_of_host[host] = order[0];
        sum += size;
    }
    assert_int_equal(sum, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(seen[i], 1);
}

static void each_unit_is_one_hosts(void **state)
{
    struct rng rng;
    uint32_t first[MOST];

    (void)state;
    random_start(&rng);
    for (unsigned i = 0; i < 300; i++)
        gather(rng_below(&rng, 2), rng_next(&rng), rng_below(&rng, 10),
               1 + (uint32_t)rng_below(&rng, 20), rng_below(&rng, MOST), first);
}

static void without_a_shuffle_it_is_the_sources_order(void **state)
{
    const struct share alone = { .hosts = 1 }, second = { .host = 1, .hosts = 3 };
    uint32_t order[7];

    (void)state;
    share_order(&alone, 5, order, 7);
    for (uint32_t i = 0; i < 7; i++)
        assert_int_equal(order[i], i);
    assert_int_equal(share_size(&second, 7), 2);
    share_order(&second, 5, order, 7);
    assert_int_equal(order[0], 1);
    assert_int_equal(order[1], 4);
}

static void epochs_and_seeds_differ(void **state)
{
    struct share share = { .shuffle = true, .seed = 7, .hosts = 1 };
    uint32_t first[100], again[100], other[100];

    (void)state;
    share_order(&share, 3, first, 100);
    share_order(&share, 3, again, 100);
    assert_memory_equal(first, again, sizeof(first));
    share_order(&share, 4, other, 100);
    assert_memory_not_equal(first, other, sizeof(first));
    share.seed = 8;
    share_order(&share, 3, other, 100);
    assert_memory_not_equal(first, other, sizeof(first));
}

/* Programs of different releases must agree about this order. */
static void the_order_is_pinned(void **state)
{
    const struct share share = { .shuffle = true, .seed = 1, .hosts = 1 };
    static const uint32_t expected[10] = { 0, 2, 9, 3, 7, 8, 5, 1, 4, 6 };
    uint32_t order[10];

    (void)state;
    share_order(&share, 2, order, 10);
    assert_memory_equal(order, expected, sizeof(expected));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_unit_is_one_hosts),
        cmocka_unit_test(without_a_shuffle_it_is_the_sources_order),
        cmocka_unit_test(epochs_and_seeds_differ),
        cmocka_unit_test(the_order_is_pinned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
