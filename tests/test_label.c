/* SPDX-License-Identifier: MIT
 *
 * Tests labels as text: which texts are numbers, how numbers are rounded, and that printed labels
 * are read back. */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "formats/format.h"
#include "formats/label.h"
#include "tests/common_random.h"

static void parses_numbers(void **state)
{
    static const struct {
        const char *text;
        long count;
        double labels[3];
    } cases[] = {
        { "0", 1, { 0 } },
        { "17", 1, { 17 } },
        { "17\n", 1, { 17 } },
        { " 17\r\n", 1, { 17 } },
        { "-3", 1, { -3 } },
        { "+3", 1, { 3 } },
        { "007", 1, { 7 } },
        { "1 0 3", 3, { 1, 0, 3 } },
        { "1,0,\t3", 3, { 1, 0, 3 } },
        { "1 , 0", 2, { 1, 0 } },
        { "0.5 .25 1.", 3, { 0.5, 0.25, 1 } },
        { "1e3 1.5E-1", 2, { 1000, (double)0.15f } },
        { "0.1", 1, { (double)0.1f } },
        { "3.0", 1, { 3 } },
        { "9007199254740992", 1, { 9007199254740992.0 } },
        { "-9007199254740991", 1, { -9007199254740991.0 } },
        { "1e300 2", -1, { 0 } },           /* not a float, and too large for an integer */
        { "1152921504606846976", 1, { 1152921504606846976.0 } },
        { "-01152921504606846976", 1, { -1152921504606846976.0 } },     /* exactly a float */
        { "9007199254740993.0", 1, { 9007199254740992.0 } },
        { "9007199254740993", -1, { 0 } },  /* an integer is not rounded */
        { "-9007199254740993", -1, { 0 } },
        { "9007199254740994 1", -1, { 0 } },
        { "100000000000000000000", -1, { 0 } },
        /* Almost halfway between two floats, as only the last digit shows. The number must be
         * rounded once and not twice. */
        { "1.00000017881393432617187499", 1, { (double)1.00000011920928955078125f } },
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++) {
        double labels[3] = { NAN, NAN, NAN };
        const long count = label_parse(cases[i].text, strlen(cases[i].text), labels, 3);
        long k;

        if (count != cases[i].count)
            fail_msg("\"%s\": %ld labels", cases[i].text, count);
        for (k = 0; k < count; k++) {
            if (labels[k] != cases[i].labels[k])
                fail_msg("\"%s\": label %ld is %.17g", cases[i].text, k, labels[k]);
        }
    }
}

static void refuses_anything_else(void **state)
{
    static const char *const texts[] = {
        "", " ", "\n", "cat", "1 cat", "1x", "x1", "0x10", "nan", "inf", "-", "+", ".", "e5", "1e",
        "1e+", "1,,2", ",1", "1,", "1;2", "[1, 2]", "1\n2", "--1", "1-2", "1e999",
    };
    double labels[8];
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(texts); i++) {
        if (label_parse(texts[i], strlen(texts[i]), labels, 8) != -1)
            fail_msg("\"%s\" was taken for labels", texts[i]);
    }
    assert_int_equal(label_parse("1\0", 2, labels, 8), -1);
}

static void heeds_size_and_most(void **state)
{
    double labels[2];

    (void)state;
    assert_int_equal(label_parse("123", 2, labels, 2), 1);
    assert_true(labels[0] == 12);
    assert_int_equal(label_parse("1 2", 3, labels, 2), 2);
    assert_int_equal(label_parse("1 2 3", 5, labels, 2), -1);
    assert_int_equal(label_parse("1", 1, labels, 0), -1);
}

static void minus_zero_is_zero(void **state)
{
    double label;

    (void)state;
    assert_int_equal(label_parse("-0", 2, &label, 1), 1);
    assert_false(signbit(label));
    assert_int_equal(label_parse("-0.0", 4, &label, 1), 1);
    assert_false(signbit(label));
}

static void assert_prints(const double *labels, size_t count, const char *expected)
{
    struct buf out = BUF_INIT(4096);

    assert_int_equal(label_print(&out, labels, count, NULL), SHEAF_OK);
    assert_int_equal(out.size, strlen(expected));
    assert_memory_equal(out.data, expected, out.size);
    buf_free(&out);
}

static void prints_the_shortest(void **state)
{
    static const double several[] = { 1, 0, 0.25 }, tenth[] = { (double)0.1f };
    static const double wide[] = { -9007199254740992.0 }, small[] = { 0x1p-149 };

    (void)state;
    assert_prints(several, 3, "1 0 0.25");
    assert_prints(tenth, 1, "0.1");
    assert_prints(wide, 1, "-9007199254740992");
    assert_prints(small, 1, "1e-45");
}

static void refuses_to_print_what_is_not_exact(void **state)
{
    const double labels[] = { 1, 0.1 }, infinite = INFINITY, nan = NAN, large = 1e300;
    struct buf out = BUF_INIT(4096);
    struct sheaf_error err;

    (void)state;
    assert_int_equal(buf_append(&out, "x", 1, NULL), SHEAF_OK);
    assert_int_equal(label_print(&out, labels, 2, &err), SHEAF_ERR_ARGUMENT);
    assert_int_equal(out.size, 1);
    assert_non_null(strstr(err.message, "0.1"));
    assert_int_equal(label_print(&out, &infinite, 1, NULL), SHEAF_ERR_ARGUMENT);
    assert_int_equal(label_print(&out, &nan, 1, NULL), SHEAF_ERR_ARGUMENT);
    assert_int_equal(label_print(&out, &large, 1, NULL), SHEAF_ERR_ARGUMENT);
    buf_free(&out);
}

static void rounds_fractions_and_no_whole_numbers(void **state)
{
    static const double kept[] = { 0, -3, 0.25, 0x1p53, 0x1p53 + 2, 0x1p60, 1e300, INFINITY };

    (void)state;
    assert_true(label_rounded(0.1) == (double)0.1f);
    assert_true(label_rounded(-1e-3) == (double)-1e-3f);
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        assert_true(label_rounded(kept[i]) == kept[i]);
    assert_true(isnan(label_rounded(NAN)));
}

/* Returns a random float or integer of any magnitude. */
static double random_label(struct rng *rng)
{
    for (;;) {
        const uint32_t bits = (uint32_t)rng_next(rng);
        float value;

        if (rng_below(rng, 2) == 0)
            return (double)((int64_t)rng_next(rng) >> (10 + rng_below(rng, 54)));
        memcpy(&value, &bits, sizeof(value));
        if (isfinite(value) && value != 0)
            return (double)value;
    }
}

static void reads_back_what_it_prints(void **state)
{
    struct buf out = BUF_INIT(4096);
    struct rng rng;
    int round;

    (void)state;
    random_start(&rng);
    for (round = 0; round < 20000; round++) {
        const double label = random_label(&rng);
        double back;

        out.size = 0;
        assert_int_equal(label_print(&out, &label, 1, NULL), SHEAF_OK);
        assert_int_equal(label_parse((char *)out.data, out.size, &back, 1), 1);
        if (back != label)
            fail_msg("%.17g came back as %.17g", label, back);
    }
    buf_free(&out);
}

/* Tests that a locale with a decimal comma makes no difference. */
static void does_not_depend_on_the_locale(void **state)
{
    const double half = 0.5;
    double label;

    (void)state;
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL)
        skip();
    assert_prints(&half, 1, "0.5");
    assert_int_equal(label_parse("0.5", 3, &label, 1), 1);
    assert_true(label == 0.5);
    setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_numbers),
        cmocka_unit_test(refuses_anything_else),
        cmocka_unit_test(heeds_size_and_most),
        cmocka_unit_test(minus_zero_is_zero),
        cmocka_unit_test(prints_the_shortest),
        cmocka_unit_test(refuses_to_print_what_is_not_exact),
        cmocka_unit_test(rounds_fractions_and_no_whole_numbers),
        cmocka_unit_test(reads_back_what_it_prints),
        cmocka_unit_test(does_not_depend_on_the_locale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
