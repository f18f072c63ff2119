/* SPDX-License-Identifier: MIT
 *
 * Tests the tally of fields. It must be the same however the samples are divided. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "formats/tally.h"
#include "tests/common_random.h"

#define SAMPLES 600u

static struct sheaf_field fields[SAMPLES][3];
static struct sheaf_sample samples[SAMPLES];
static char keys[SAMPLES][16];

/* Makes samples that all have a field `jpg`, most a field `json`, and a few the other fields. */
static void make_samples(struct rng *rng)
{
    for (uint32_t i = 0; i < SAMPLES; i++) {
        size_t count = 0;

        snprintf(keys[i], sizeof(keys[i]), "k/%u", i);
        fields[i][count++] = (struct sheaf_field){ .name = "jpg", .size = rng_below(rng, 30000) };
        if (rng_below(rng, 40) != 0)
            fields[i][count++] = (struct sheaf_field){ .name = "json", .size = 7 };
        if (rng_below(rng, 100) == 0)
            fields[i][count++] = (struct sheaf_field){ .name = "zz", .size = rng_below(rng, 10) };
        samples[i] = (struct sheaf_sample){ .key = keys[i], .fields = fields[i],
                                            .field_count = count };
    }
}

static struct tally count(uint32_t from, uint32_t end)
{
    struct tally t = { .samples = 0 };

    for (uint32_t i = from; i < end; i++)
        assert_int_equal(tally_add(&t, &samples[i], NULL), SHEAF_OK);
    return t;
}

static void assert_same(const struct tally *a, const struct tally *b)
{
    struct buf x = BUF_INIT(1 << 20), y = BUF_INIT(1 << 20);
    const char *name;

    assert_int_equal(a->samples, b->samples);
    assert_null(tally_difference(a, b, false, &name));
    assert_int_equal(tally_write(a, &x, NULL), SHEAF_OK);
    assert_int_equal(tally_write(b, &y, NULL), SHEAF_OK);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    buf_free(&x);
    buf_free(&y);
}

static void however_it_is_divided(void **state)
{
    struct rng rng;
    struct tally whole;

    (void)state;
    random_start(&rng);
    make_samples(&rng);
    whole = count(0, SAMPLES);
    for (int k = 0; k < 50; k++) {
        struct tally parts = { .samples = 0 };

        for (uint32_t at = 0; at < SAMPLES;) {
            const uint32_t left = SAMPLES - at, most = left < 90 ? left : 90;
            const uint32_t more = (uint32_t)rng_below(&rng, most + 1);
            struct tally part = count(at, at + more);

            assert_int_equal(tally_merge(&parts, &part, NULL), SHEAF_OK);
            tally_clear(&part);
            at += more;
        }
        assert_same(&parts, &whole);
        tally_clear(&parts);
    }
    tally_clear(&whole);
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void what_is_counted_is_so(void **state)
{
    struct rng rng;
    uint64_t sizes[SAMPLES], json = 0;
    const char *lacking = NULL;
    struct tally t;

    (void)state;
    random_start(&rng);
    make_samples(&rng);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        const bool has = samples[i].field_count > 1 && strcmp(fields[i][1].name, "json") == 0;

        sizes[i] = fields[i][0].size;
        json += has;
        lacking = lacking == NULL && !has ? keys[i] : lacking;
    }
    qsort(sizes, SAMPLES, sizeof(sizes[0]), compare);
    t = count(0, SAMPLES);
    assert_string_equal(t.fields[0].name, "jpg");
    assert_int_equal(t.fields[0].samples, SAMPLES);
    assert_null(t.fields[0].lacking);
    assert_int_equal(t.fields[0].least, sizes[0]);
    assert_int_equal(t.fields[0].most, sizes[SAMPLES - 1]);
    assert_true(tally_median(&t.fields[0]) * 100 >= sizes[SAMPLES / 2 - 1] * 95 &&
                tally_median(&t.fields[0]) * 100 <= sizes[SAMPLES / 2 - 1] * 105);
    assert_int_equal(t.fields[1].samples, json);
    assert_string_equal(t.fields[1].lacking, lacking);
    assert_int_equal(tally_median(&t.fields[1]), 7);
    tally_clear(&t);
}

static void json_gives_it_back(void **state)
{
    struct rng rng;
    struct buf text = BUF_INIT(1 << 20);
    struct tally t, back;

    (void)state;
    random_start(&rng);
    make_samples(&rng);
    t = count(0, SAMPLES);
    assert_int_equal(tally_write(&t, &text, NULL), SHEAF_OK);
    assert_int_equal(tally_parse(text.data, text.size, &back, NULL), SHEAF_OK);
    assert_string_equal(back.first, "k/0");
    assert_same(&t, &back);
    tally_clear(&t);
    tally_clear(&back);
    /* An error must be reported, and must leave nothing behind. */
    for (size_t i = 0; i < text.size; i++) {
        struct sheaf_error err;
        const uint8_t was = text.data[i];

        text.data[i] = (uint8_t)"09-{,\"]"[rng_below(&rng, 7)];
        if (tally_parse(text.data, text.size, &back, &err) != SHEAF_OK)
            assert_int_equal(err.code, SHEAF_ERR_CORRUPT);
        tally_clear(&back);
        text.data[i] = was;
    }
    buf_free(&text);
}

static void too_many_names_are_none(void **state)
{
    struct tally first = { .samples = 0 }, rest = { .samples = 0 };

    (void)state;
    for (unsigned i = 0; i < TALLY_NAMES_MOST + 1; i++) {
        char name[16];
        const struct sheaf_field field = { .name = name, .size = i };
        const struct sheaf_sample sample = { .key = "k", .fields = &field, .field_count = 1 };

        snprintf(name, sizeof(name), "f%u", i);
        assert_false(first.has_too_many);
        assert_int_equal(tally_add(i == 0 ? &rest : &first, &sample, NULL), SHEAF_OK);
    }
    assert_int_equal(first.count, TALLY_NAMES_MOST);
    assert_int_equal(tally_merge(&first, &rest, NULL), SHEAF_OK);
    assert_true(first.has_too_many && first.count == 0);
    assert_int_equal(first.samples, TALLY_NAMES_MOST + 1);
    tally_clear(&first);
    tally_clear(&rest);
}

/* Tests tallies of older releases, and a name that JSON cannot represent. */
static void unknown_is_unknown(void **state)
{
    const struct sheaf_field field = { .name = "\xff", .size = 1 };
    const struct sheaf_sample sample = { .key = "k", .fields = &field, .field_count = 1 };
    struct tally t = { .samples = 0 }, none;

    (void)state;
    assert_int_equal(tally_parse("", 0, &none, NULL), SHEAF_OK);
    assert_true(none.is_unknown);
    assert_int_equal(tally_merge(&t, &none, NULL), SHEAF_OK);
    assert_true(t.is_unknown);
    tally_clear(&t);
    assert_int_equal(tally_add(&t, &sample, NULL), SHEAF_OK);
    assert_true(t.is_unknown);
    tally_clear(&t);
}

static void decades_are_exact(void **state)
{
    static const uint64_t sizes[] = { 0, 999, 1000, 9999, 10000, 999999999, 1000000000,
                                      1ull << 62 };
    uint64_t decades[SHEAF_SURVEY_DECADES];
    struct tally t = { .samples = 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const struct sheaf_field field = { .name = "x", .size = sizes[i] };
        const struct sheaf_sample sample = { .key = "k", .fields = &field, .field_count = 1 };

        assert_int_equal(tally_add(&t, &sample, NULL), SHEAF_OK);
    }
    tally_decades(&t.fields[0], decades);
    assert_int_equal(decades[0], 2);
    assert_int_equal(decades[1], 2);
    assert_int_equal(decades[2], 1);
    assert_int_equal(decades[6], 1);
    assert_int_equal(decades[7], 2);
    tally_clear(&t);
}

/* Tests that the tally after a removal counts the other samples. Only the smallest and the largest
 * size may be limits. */
static void removed_samples_are_not_counted(void **state)
{
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (int round = 0; round < 50; round++) {
        struct tally whole, some = { .samples = 0 }, others = { .samples = 0 };
        const char *name;

        make_samples(&rng);
        whole = count(0, SAMPLES);
        for (uint32_t i = 0; i < SAMPLES; i++) {
            const bool goes = rng_below(&rng, round % 5 + 1) != 0;

            assert_int_equal(tally_add(goes ? &some : &others, &samples[i], NULL), SHEAF_OK);
            if (goes)
                tally_forget_key(&whole, samples[i].key);
        }
        tally_subtract(&whole, &some);
        assert_int_equal(whole.samples, others.samples);
        name = tally_difference(&others, &whole, true, &name);
        if (name != NULL)
            fail_msg("%s", name);
        tally_clear(&whole);
        tally_clear(&some);
        tally_clear(&others);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(however_it_is_divided),
        cmocka_unit_test(what_is_counted_is_so),
        cmocka_unit_test(json_gives_it_back),
        cmocka_unit_test(too_many_names_are_none),
        cmocka_unit_test(unknown_is_unknown),
        cmocka_unit_test(decades_are_exact),
        cmocka_unit_test(removed_samples_are_not_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
