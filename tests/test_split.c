/* SPDX-License-Identifier: MIT
 *
 * Tests splits: the texts that are accepted, and that every class is split as exactly as whole
 * samples allow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "packer/plan/split.h"
#include "tests/common_random.h"

static void test_grammar(void **state)
{
    struct split_spec spec;
    struct sheaf_error err;

    (void)state;
    assert_int_equal(split_parse("train=0.8,val=0.2", &spec, &err), SHEAF_OK);
    assert_int_equal(spec.count, 2);
    assert_string_equal(spec.splits[1].name, "val");
    assert_int_equal(spec.splits[0].value, 800000000);
    assert_false(spec.per_class);
    assert_int_equal(split_parse("a=.333333333,b=rest", &spec, &err), SHEAF_OK);
    assert_int_equal(spec.splits[1].value, 666666667);
    assert_int_equal(split_parse("train=60/class,val=5/class,test=rest", &spec, &err), SHEAF_OK);
    assert_true(spec.per_class);
    assert_int_equal(spec.splits[1].value, 5);
    assert_int_equal(split_parse("all=1", &spec, &err), SHEAF_OK);
    assert_int_equal(split_parse("all=1.000000000000", &spec, &err), SHEAF_OK);
    assert_int_equal(split_parse("all=rest", &spec, &err), SHEAF_OK);
}

static void test_refused(void **state)
{
    static const char *const bad[] = {
        "", "train", "=1", "train=", "train=0.8", "train=0.8,val=0.3", "train=0,val=1",
        "train=1.5,val=-0.5", "a/b=1", "..=1", "a=0.5,a=0.5", "a=0.5,b=0.5,", "a=60/class",
        "a=60/class,b=0.5,c=rest", "a=rest,b=rest", "a=0/class,b=rest", "a=1,b=rest",
        "a=0.1234567891,b=rest", "a=x/class,b=rest", "a=1e0", "a= 1",
        "a=0.5,b=0.5;", "0123456789012345678901234567890123456789012345678901234567890123456=1",
    };
    static const char seventeen[] = "a=.01,b=.01,c=.01,d=.01,e=.01,f=.01,g=.01,h=.01,i=.01,"
                                    "j=.01,k=.01,l=.01,m=.01,n=.01,o=.01,p=.01,q=rest";
    struct split_spec spec;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct sheaf_error err = { .message = "" };

        if (split_parse(bad[i], &spec, &err) != SHEAF_ERR_ARGUMENT)
            fail_msg("taken for good: %s", bad[i]);
        assert_string_not_equal(err.message, "");
    }
    assert_int_equal(split_parse(seventeen, &spec, NULL), SHEAF_ERR_ARGUMENT);
    assert_int_equal(split_parse(seventeen + 6, &spec, NULL), SHEAF_OK);
}

static void test_fractions_are_exact(void **state)
{
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (int round = 0; round < 300; round++) {
        struct split_spec spec;
        struct split_carry carry = { { 0 } };
        struct sheaf_error err;
        const unsigned first = 1 + (unsigned)rng_below(&rng, 998);
        uint64_t total = 0, taken = 0, counts[SPLIT_LIMIT];
        char text[40];

        snprintf(text, sizeof(text), "train=0.%03u,val=rest", first);
        assert_int_equal(split_parse(text, &spec, &err), SHEAF_OK);
        for (int class = 0; class < 60; class++) {
            const uint64_t samples = rng_below(&rng, rng_below(&rng, 2) ? 3 : 400);

            split_class(&spec, samples, &carry, counts);
            assert_int_equal(counts[0] + counts[1], samples);
            assert_true(counts[0] * 1000 + 1000 > samples * first);
            assert_true(counts[0] * 1000 < samples * first + 1000);
            total += samples;
            taken += counts[0];
            /* The split over all classes must be as exact as the split of one class. */
            assert_true(taken * 1000 + 1000 > total * first);
            assert_true(taken * 1000 < total * first + 1000);
        }
    }
}

static void test_many_splits_add_up(void **state)
{
    struct split_spec spec;
    struct split_carry carry = { { 0 } };
    struct sheaf_error err;
    uint64_t counts[SPLIT_LIMIT];
    struct rng rng;

    (void)state;
    random_start(&rng);
    assert_int_equal(split_parse("a=0.5,b=0.25,c=0.15,d=0.07,e=0.03", &spec, &err), SHEAF_OK);
    for (int class = 0; class < 2000; class++) {
        const uint64_t samples = rng_below(&rng, 50);
        uint64_t sum = 0;

        split_class(&spec, samples, &carry, counts);
        for (uint32_t i = 0; i < spec.count; i++) {
            sum += counts[i];
            assert_true((counts[i] + 1) * SPLIT_WHOLE > samples * spec.splits[i].value);
            assert_true(counts[i] * SPLIT_WHOLE < samples * spec.splits[i].value + SPLIT_WHOLE);
            assert_true(carry.owed[i] < 3 * (int64_t)SPLIT_WHOLE &&
                        carry.owed[i] > -3 * (int64_t)SPLIT_WHOLE);
        }
        assert_int_equal(sum, samples);
    }
}

static void test_so_many_of_each_class(void **state)
{
    struct split_spec spec;
    struct split_carry carry = { { 0 } };
    struct sheaf_error err;
    uint64_t counts[SPLIT_LIMIT];

    (void)state;
    assert_int_equal(split_parse("test=rest,train=60/class,val=5/class", &spec, &err), SHEAF_OK);
    split_class(&spec, 100, &carry, counts);
    assert_true(counts[0] == 35 && counts[1] == 60 && counts[2] == 5);
    split_class(&spec, 62, &carry, counts);
    assert_true(counts[0] == 0 && counts[1] == 60 && counts[2] == 2);
    split_class(&spec, 3, &carry, counts);
    assert_true(counts[0] == 0 && counts[1] == 3 && counts[2] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grammar),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_fractions_are_exact),
        cmocka_unit_test(test_many_splits_add_up),
        cmocka_unit_test(test_so_many_of_each_class),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
