/* SPDX-License-Identifier: MIT
 *
 * Tests the list of spare buffers: which buffer is taken, and which are freed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/spare.h"
#include "tests/common_must.h"

static struct buf make(size_t size)
{
    struct buf buf = BUF_INIT(size);
    struct sheaf_error error;

    must(buf_map(&buf, size, &error));
    memset(buf.data, 0xa5, size);
    buf.size = size;
    return buf;
}

static void give(struct spares *spares, size_t size)
{
    struct buf buf = make(size);

    spares_give(spares, &buf);
    assert_null(buf.data);
    assert_int_equal(buf.capacity, 0);
}

static size_t take(struct spares *spares, uint64_t most)
{
    struct buf buf;
    size_t capacity;

    spares_take(spares, most, &buf);
    assert_int_equal(buf.size, 0);
    assert_int_equal(buf.data == NULL, buf.capacity == 0);
    capacity = buf.capacity;
    if (capacity != 0)
        memset(buf.data, 0x5a, capacity);
    buf_free(&buf);
    return capacity;
}

static void the_largest_that_is_allowed_is_taken(void **state)
{
    struct spares spares = { .bytes = 0 };

    (void)state;
    give(&spares, 4096);
    give(&spares, 1 << 20);
    give(&spares, 65536);
    assert_int_equal(spares.bytes, 4096 + (1 << 20) + 65536);
    assert_int_equal(take(&spares, 4095), 0);
    assert_int_equal(take(&spares, (1 << 20) - 1), 65536);
    assert_int_equal(take(&spares, UINT64_MAX), 1 << 20);
    assert_int_equal(take(&spares, UINT64_MAX), 4096);
    assert_int_equal(take(&spares, UINT64_MAX), 0);
    assert_int_equal(spares.bytes, 0);
}

static void buffers_are_freed_until_the_rest_fits(void **state)
{
    struct spares spares = { .bytes = 0 };
    struct buf none = BUF_INIT(1);

    (void)state;
    spares_give(&spares, &none);            /* An empty buffer is not kept. */
    for (int i = 0; i < 10; i++)
        give(&spares, 65536);
    spares_trim(&spares, 10 * 65536);
    assert_int_equal(spares.bytes, 10 * 65536);
    spares_trim(&spares, 5 * 65536 - 1);
    assert_int_equal(spares.bytes, 4 * 65536);
    spares_trim(&spares, 0);
    assert_int_equal(spares.bytes, 0);
    assert_null(spares.first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_that_is_allowed_is_taken),
        cmocka_unit_test(buffers_are_freed_until_the_rest_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
