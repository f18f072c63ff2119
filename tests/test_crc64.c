/* SPDX-License-Identifier: MIT
 *
 * Tests CRC-64/NVME with known vectors. Also compares it with a CRC that is computed bit by bit,
 * for sizes up to a few hundred bytes at any alignment, because long and short inputs are handled
 * differently. Combining the CRCs of two parts must give the CRC of the whole, for this CRC and for
 * CRC-32C. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/crc64.h"

#define SIZE_MOST 700

static uint64_t bit_by_bit(uint64_t crc, const uint8_t *data, size_t size)
{
    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? CRC64_NVME_POLYNOMIAL : 0);
    }
    return ~crc;
}

static void fill(uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(i * i * 31 + i / 7);
}

/* The last two vectors are in the NVM Command Set Specification. */
static void gives_the_vectors(void **state)
{
    static uint8_t block[4096];

    (void)state;
    assert_true(crc64_nvme(0, "", 0) == 0);
    assert_true(crc64_nvme(0, "123456789", 9) == 0xae8b14860a799888u);
    memset(block, 0, sizeof(block));
    assert_true(crc64_nvme(0, block, sizeof(block)) == 0x6482d367eb22b64eu);
    memset(block, 0xff, sizeof(block));
    assert_true(crc64_nvme(0, block, sizeof(block)) == 0xc0ddba7302eca3acu);
}

static void every_size_and_place(void **state)
{
    uint8_t bytes[SIZE_MOST + 8];

    (void)state;
    fill(bytes, sizeof(bytes));
    for (size_t size = 0; size <= SIZE_MOST; size++) {
        const uint8_t *data = bytes + size % 8;

        assert_true(crc64_nvme(0, data, size) == bit_by_bit(0, data, size));
        assert_true(crc64_nvme(7, data, size) == bit_by_bit(7, data, size));
    }
}

static void goes_on(void **state)
{
    uint8_t bytes[SIZE_MOST];
    uint64_t whole;

    (void)state;
    fill(bytes, sizeof(bytes));
    whole = crc64_nvme(0, bytes, sizeof(bytes));
    for (size_t cut = 0; cut <= sizeof(bytes); cut++)
        assert_true(crc64_nvme(crc64_nvme(0, bytes, cut), bytes + cut, sizeof(bytes) - cut) ==
                    whole);
}

static void combines(void **state)
{
    uint8_t bytes[SIZE_MOST];

    (void)state;
    fill(bytes, sizeof(bytes));
    for (size_t cut = 0; cut <= sizeof(bytes); cut++) {
        const uint8_t *b = bytes + cut;
        const size_t size = sizeof(bytes) - cut;

        assert_true(crc_combine(CRC64_NVME_POLYNOMIAL, 64, crc64_nvme(0, bytes, cut),
                                crc64_nvme(0, b, size), size) ==
                    crc64_nvme(0, bytes, sizeof(bytes)));
        assert_true(crc_combine(CRC32C_POLYNOMIAL, 32, crc32c(0, bytes, cut), crc32c(0, b, size),
                                size) == crc32c(0, bytes, sizeof(bytes)));
    }
}

/* Tests lengths that are too large for real data. The order of combining must not matter. */
static void combines_long_pieces(void **state)
{
    const uint64_t a = 0x0123456789abcdefu, b = 0xfedcba9876543210u, c = 0x5555aaaa3333ccccu;
    const uint64_t lengths[] = { 1, (uint64_t)8 << 20, (uint64_t)5 << 40, UINT64_MAX / 4 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(lengths); i++)
        for (size_t k = 0; k < COUNT_OF(lengths); k++) {
            const uint64_t p = CRC64_NVME_POLYNOMIAL, bc = lengths[i], cc = lengths[k];
            const uint64_t left = crc_combine(p, 64, crc_combine(p, 64, a, b, bc), c, cc);

            assert_true(left == crc_combine(p, 64, a, crc_combine(p, 64, b, c, cc), bc + cc));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_vectors),
        cmocka_unit_test(every_size_and_place),
        cmocka_unit_test(goes_on),
        cmocka_unit_test(combines),
        cmocka_unit_test(combines_long_pieces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
