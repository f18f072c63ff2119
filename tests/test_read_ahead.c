/* SPDX-License-Identifier: MIT
 *
 * Tests reading ahead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "store/read_ahead.h"
#include "tests/common_object.h"
#include "tests/common_random.h"

#define SIZE ((size_t)9000017)
#define PIECES 4u
#define MEMORY ((uint64_t)PIECES << 18)

static uint8_t content[SIZE];
static struct sheaf_error error;

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZE; i++)
        content[i] = (uint8_t)(i * 31 + i / 255);
    return 0;
}

static struct store_object *wrapped(struct far_object *o, size_t size)
{
    struct store_object *object = &o->base;

    far_object_init(o, "far://object", "1", content, size);
    assert_int_equal(ahead_wrap(&object, MEMORY, PIECES, &error), SHEAF_OK);
    assert_string_equal(object->url, "far://object");
    assert_int_equal(object->bytes, size);
    return object;
}

static void must_read(struct store_object *object, uint64_t offset, size_t size)
{
    uint8_t *data = malloc(size + 1);

    assert_int_equal(store_read(object, offset, data, size, &error), SHEAF_OK);
    assert_memory_equal(data, content + offset, size);
    free(data);
}

static void test_from_start_to_end(void **state)
{
    struct far_object o;
    struct store_object *object = wrapped(&o, SIZE);
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (size_t at = 0; at < SIZE;) {
        const size_t wanted = (size_t)rng_below(&rng, 200000), size = MIN(wanted, SIZE - at);

        must_read(object, at, size);
        at += size;
    }
    must_read(object, SIZE, 0);
    assert_int_equal(o.read_bytes, SIZE);
    assert_int_equal(o.reads, SIZE / (MEMORY / PIECES) + 1);
    store_close(object);
}

static void test_hops(void **state)
{
    struct far_object o;
    struct store_object *object = wrapped(&o, SIZE);
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (int i = 0; i < 200; i++) {
        const uint64_t at = rng_below(&rng, SIZE), size = rng_below(&rng, 100000);

        must_read(object, at, (size_t)MIN(size, SIZE - at));
    }
    must_read(object, 0, SIZE);
    store_close(object);
}

static void test_small_and_empty(void **state)
{
    struct far_object o;
    struct store_object *object = wrapped(&o, 5);
    uint8_t data[8];

    (void)state;
    must_read(object, 1, 3);
    must_read(object, 0, 5);
    assert_int_equal(store_read(object, 1, data, 5, &error), SHEAF_ERR_TRUNCATED);
    assert_int_equal(store_read(object, 6, data, 0, &error), SHEAF_ERR_TRUNCATED);
    store_close(object);
    object = wrapped(&o, 0);
    must_read(object, 0, 0);
    store_close(object);
}

static void test_failure(void **state)
{
    struct far_object o;
    struct store_object *object = wrapped(&o, SIZE);
    uint8_t byte;

    (void)state;
    o.fail_from = 1;
    o.failure = SHEAF_ERR_CHANGED;
    assert_int_equal(store_read(object, 0, &byte, 1, &error), SHEAF_ERR_CHANGED);
    assert_non_null(strstr(error.message, "fails"));
    assert_int_equal(store_read(object, 0, &byte, 1, NULL), SHEAF_ERR_CHANGED);
    store_close(object);
}

static void test_interruption(void **state)
{
    volatile int interrupt = 1;
    struct far_object o;
    struct store_object *object = wrapped(&o, SIZE);
    uint8_t byte;

    (void)state;
    __atomic_store_n(&o.is_stuck, true, __ATOMIC_RELAXED);
    object->interrupt = &interrupt;
    assert_int_equal(store_read(object, 0, &byte, 1, &error), SHEAF_ERR_INTERRUPTED);
    store_close(object);
    object = wrapped(&o, SIZE);     /* closing the window must also end running reads */
    must_read(object, 0, 1);
    __atomic_store_n(&o.is_stuck, true, __ATOMIC_RELAXED);
    interrupt = 1;
    object->interrupt = &interrupt;
    assert_int_equal(store_read(object, SIZE - 1, &byte, 1, &error), SHEAF_ERR_INTERRUPTED);
    store_close(object);
}

static void test_memory(void **state)
{
    (void)state;
    for (unsigned pieces = 1; pieces <= AHEAD_PIECES_MOST; pieces++) {
        assert_int_equal(ahead_memory((uint64_t)1 << 40, pieces), (uint64_t)pieces << 22);
        assert_true(ahead_memory((uint64_t)64 << 20, pieces) <= (uint64_t)4 << 20);
        assert_true(ahead_memory(0, pieces) > 0);
        assert_int_equal(ahead_pieces(ahead_memory((uint64_t)1 << 30, pieces), pieces), pieces);
    }
    assert_int_equal(ahead_pieces(ahead_memory(0, AHEAD_PIECES_MOST), AHEAD_PIECES_MOST), 1);
}

/* Tests that after the first read, the next pieces are requested as well. */
static void test_requests(void **state)
{
    struct far_object o;
    struct store_object *object = &o.base;

    (void)state;
    for (unsigned most = 1; most <= AHEAD_PIECES_MOST; most++, object = &o.base) {
        far_object_init(&o, "far://object", "1", content, SIZE);
        assert_int_equal(ahead_wrap(&object, (uint64_t)most << 18, most, &error), SHEAF_OK);
        must_read(object, 0, 1);
        store_close(object);            /* waits for all reads that were begun */
        assert_int_equal(o.reads, most);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_from_start_to_end), cmocka_unit_test(test_hops),
        cmocka_unit_test(test_small_and_empty), cmocka_unit_test(test_failure),
        cmocka_unit_test(test_interruption), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_requests),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
