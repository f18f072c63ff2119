/* SPDX-License-Identifier: MIT
 *
 * Tests CRC-32C with the vectors of RFC 3720. Also compares it with a CRC that is computed bit by
 * bit, for sizes up to a few hundred bytes at any alignment, because long and short inputs are
 * handled differently. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/crc32c.h"

#define SIZE_MOST 700

static uint32_t bit_by_bit(uint32_t crc, const uint8_t *data, size_t size)
{
    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

static void gives_the_vectors(void **state)
{
    uint8_t block[32];

    (void)state;
    assert_int_equal(crc32c(0, "", 0), 0);
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283u);
    memset(block, 0, sizeof(block));
    assert_int_equal(crc32c(0, block, sizeof(block)), 0x8a9136aau);
    memset(block, 0xff, sizeof(block));
    assert_int_equal(crc32c(0, block, sizeof(block)), 0x62a8ab43u);
    for (size_t i = 0; i < sizeof(block); i++)
        block[i] = (uint8_t)i;
    assert_int_equal(crc32c(0, block, sizeof(block)), 0x46dd794eu);
}

static void every_size_and_place(void **state)
{
    uint8_t bytes[SIZE_MOST + 8];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * i * 31 + i / 7);
    for (size_t size = 0; size <= SIZE_MOST; size++) {
        const uint8_t *data = bytes + size % 8;

        assert_int_equal(crc32c(0, data, size), bit_by_bit(0, data, size));
    }
}

static void goes_on(void **state)
{
    uint8_t bytes[SIZE_MOST];
    uint32_t whole;

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 7);
    whole = bit_by_bit(0, bytes, sizeof(bytes));
    for (size_t cut = 0; cut <= sizeof(bytes); cut++)
        assert_int_equal(crc32c(crc32c(0, bytes, cut), bytes + cut, sizeof(bytes) - cut), whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_vectors),
        cmocka_unit_test(every_size_and_place),
        cmocka_unit_test(goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
