/* SPDX-License-Identifier: MIT
 *
 * MD5 against RFC 1321's vectors, and side by side against OpenSSL's, for lengths around every
 * edge of a block and of its padding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/md5.h"
#include "tests/common_random.h"

#define MESSAGES 7              /* two groups, and one that is left */
#define LONGEST ((size_t)20000)

static uint8_t data[MESSAGES][LONGEST + 1];

static void check_text(const char *text, const char *expected)
{
    struct md5_message m = { text, strlen(text), { 0 } };
    char digits[2 * MD5_BYTES + 1];

    md5_hash(&m, 1);
    for (size_t i = 0; i < MD5_BYTES; i++)
        snprintf(digits + 2 * i, 3, "%02x", m.digest[i]);
    assert_string_equal(digits, expected);
}

static void test_rfc_1321(void **state)
{
    (void)state;
    check_text("", "d41d8cd98f00b204e9800998ecf8427e");
    check_text("a", "0cc175b9c0f1b6a831c399e269772661");
    check_text("abc", "900150983cd24fb0d6963f7d28e17f72");
    check_text("message digest", "f96b697d7cb7938d525a2f31aaf161d0");
    check_text("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b");
    check_text("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
               "d174ab98d277d9f5a5611c2c9f419d9f");
    check_text("1234567890123456789012345678901234567890123456789012345678901234567890123456789"
               "0", "57edf4a22be3c955ac49da2e2107b67a");
}

static void check_against_openssl(struct md5_message *m, size_t count)
{
    md5_hash(m, count);
    for (size_t i = 0; i < count; i++) {
        uint8_t expected[MD5_BYTES];

        assert_int_equal(EVP_Digest(m[i].data, m[i].size, expected, NULL, EVP_md5(), NULL), 1);
        assert_memory_equal(m[i].digest, expected, MD5_BYTES);
    }
}

/* Every length up to three blocks, so many at once, of one length and of neighbouring ones. */
static void test_lengths(void **state)
{
    (void)state;
    for (size_t count = 1; count <= MESSAGES; count++) {
        for (size_t size = 0; size <= 192; size++) {
            struct md5_message same[MESSAGES], other[MESSAGES];

            for (size_t i = 0; i < count; i++) {
                same[i] = (struct md5_message){ data[i], size, { 0 } };
                other[i] = (struct md5_message){ data[i] + 1, size + i * 31 % 67, { 0 } };
            }
            check_against_openssl(same, count);
            check_against_openssl(other, count);
        }
    }
}

static void test_random(void **state)
{
    struct rng *rng = *state;

    for (unsigned turn = 0; turn < 500; turn++) {
        struct md5_message m[MESSAGES];
        const size_t count = 1 + rng_below(rng, MESSAGES);

        for (size_t i = 0; i < count; i++)
            m[i] = (struct md5_message){ data[i] + rng_below(rng, 2), rng_below(rng, LONGEST),
                                         { 0 } };
        check_against_openssl(m, count);
    }
}

int main(void)
{
    static struct rng rng;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rfc_1321),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test_prestate(test_random, &rng),
    };

    random_start(&rng);
    for (size_t i = 0; i < MESSAGES; i++)
        random_bytes(&rng, data[i], sizeof(data[i]));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
