/* SPDX-License-Identifier: MIT
 *
 * Tests crops against tests/corpus/crop_vectors.txt, which was made by an independent
 * implementation and by Pillow (tests/system/crop_reference.py). Compares positions and pixels,
 * with every loop that this processor supports. Also tests the distribution of crops, and options
 * that are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <xxhash.h>

#include "base/rng.h"
#include "image/crop_scaler.h"
#include "tests/common_order.h"

#define VECTORS "tests/corpus/crop_vectors.txt"

static double number(char **text)
{
    return strtod(*text, text);
}

static void bar(char **text)
{
    *text = strchr(*text, '|') + 1;
}

/* ---- Where they are -------------------------------------------------------------------------- */

static void check_draw(char *text)
{
    const uint64_t seed = strtoull(text, &text, 10), view = strtoull(text, &text, 10);
    const uint32_t width = (uint32_t)number(&text), height = (uint32_t)number(&text);
    struct crop_range range;
    struct crop crop;

    for (int i = 0; i < 2; i++)
        range.scale[i] = number(&text);
    for (int i = 0; i < 2; i++) {
        range.ratio[i] = number(&text);
        range.log_ratio[i] = crop_log(range.ratio[i]);
    }
    range.flip = number(&text);
    bar(&text);
    crop = crop_draw(&range, seed, (uint32_t)view, width, height);
    assert_int_equal(crop.top, number(&text));
    assert_int_equal(crop.left, number(&text));
    assert_int_equal(crop.height, number(&text));
    assert_int_equal(crop.width, number(&text));
    assert_int_equal(crop.flipped, number(&text));
}

/* ---- Their pixels ---------------------------------------------------------------------------- */

/* Makes a picture of pixels of four bytes, row after row. */
static uint8_t *picture(uint64_t seed, uint32_t width, uint32_t height)
{
    uint8_t *rows = calloc((size_t)width * height * 4, 1);
    struct rng rng;

    assert_non_null(rows);
    rng_seed(&rng, RNG_SHARDS, seed, width, height);
    for (size_t i = 0; i < (size_t)width * height; i++)
        for (int c = 0; c < 3; c++)
            rows[4 * i + (size_t)c] = (uint8_t)(rng_next(&rng) >> 56);
    return rows;
}

static void check_layout(const struct crop_plan *plan, const struct crop_view *view,
                         const struct crop_cut *cut, const uint8_t *rows, uint32_t width,
                         uint32_t height, bool plain, uint64_t expected)
{
    const size_t plane = (size_t)view->width * view->height;
    uint8_t *out = malloc(plane * 3), *inside = malloc(plane * 3);
    struct crop_scaler s;

    assert_int_equal(crop_scaler_open(&s, plan, view, cut, 3, out, NULL), SHEAF_OK);
    if (plain)
        s.resampler.kernel = &resample_plain;
    for (uint32_t y = 0; y < height; y++)
        crop_scaler_row(&s, rows + (size_t)y * width * 4, 0, y, 4);
    crop_scaler_finish(&s);
    crop_scaler_close(&s);
    for (size_t i = 0; i < plane * 3; i++)
        inside[i] = plan->layout == SHEAF_NHWC ? out[i] : out[i % 3 * plane + i / 3];
    assert_true(XXH3_64bits(inside, plane * 3) == expected);
    free(inside);
    free(out);
}

static void check_resize(char *text)
{
    static const enum resample_filter filters[] = { RESAMPLE_BILINEAR, RESAMPLE_BICUBIC,
                                                    RESAMPLE_LANCZOS };
    uint32_t n[11];
    uint64_t expected;
    uint8_t *rows;

    for (int i = 0; i < 10; i++)
        n[i] = (uint32_t)strtoull(text, &text, 10);
    n[10] = (uint32_t)strtoull(text, &text, 10);
    {
        const struct crop_view view = { .width = n[8], .height = n[9] };
        const struct crop_cut cut = { { n[3], n[4], n[5], n[6], n[7] != 0 }, n[8], n[9], 0, 0 };
        struct crop_plan plan = { .filter = filters[n[10]],
                                  .order = (enum sheaf_pillow)strtoull(text, &text, 10) };

        bar(&text);
        expected = strtoull(text, &text, 10);
        rows = picture(n[0], n[1], n[2]);
        for (int i = 0; i < 4; i++) {
            plan.layout = i % 2 == 0 ? SHEAF_NCHW : SHEAF_NHWC;
            check_layout(&plan, &view, &cut, rows, n[1], n[2], i >= 2, expected);
        }
        free(rows);
    }
}

static void test_vectors(void **state)
{
    FILE *file = fopen(VECTORS, "r");
    char *text = NULL;
    size_t capacity = 0, draws = 0, resizes = 0;

    (void)state;
    assert_non_null(file);
    while (getline(&text, &capacity, file) > 0) {
        if (strncmp(text, "draw ", 5) == 0) {
            check_draw(text + 5);
            draws++;
        } else if (strncmp(text, "resize ", 7) == 0) {
            check_resize(text + 7);
            resizes++;
        }
    }
    assert_true(draws == 300 && resizes == 120);
    free(text);
    assert_int_equal(fclose(file), 0);
}

/* ---- Distribution ---------------------------------------------------------------------------- */

#define BINS  20
#define DRAWS 200000

/* Checks that all bins are equally probable. With 19 degrees of freedom, a value above 60 has a
 * probability of less than 10^-5. */
static void check_uniform(const uint32_t *counts)
{
    double sum = 0;

    for (int i = 0; i < BINS; i++) {
        const double off = counts[i] - (double)DRAWS / BINS;

        sum += off * off * BINS / DRAWS;
    }
    assert_true(sum < 60);
}

static int bin(double at)
{
    return at <= 0 ? 0 : at >= 1 ? BINS - 1 : (int)(at * BINS);
}

/* For a square picture into which every attempt fits, the area, the logarithm of the ratio and the
 * position must be uniform. They must not depend on whether the crop is mirrored. */
static void test_distribution(void **state)
{
    const struct crop_range range = {
        { 0.08, 0.5 }, { 3. / 4, 4. / 3 }, { crop_log(3. / 4), crop_log(4. / 3) }, 0.5,
    };
    uint32_t counts[4][BINS] = { { 0 } }, flips = 0;

    (void)state;
    for (uint32_t i = 0; i < DRAWS; i++) {
        const struct crop c = crop_draw(&range, i, 0, 20000, 20000);
        const double area = (double)c.width * c.height / 4e8;
        const double ratio = crop_log((double)c.width / c.height);

        counts[0][bin((area - 0.08) / 0.42)]++;
        counts[1][bin((ratio - range.log_ratio[0]) / (range.log_ratio[1] - range.log_ratio[0]))]++;
        counts[2][bin((double)c.top / (20000 - c.height))]++;
        counts[3][bin((double)c.left / (20000 - c.width))]++;
        flips += c.flipped;
        assert_true(c.top + c.height <= 20000 && c.left + c.width <= 20000);
    }
    for (int i = 0; i < 4; i++)
        check_uniform(counts[i]);
    assert_true(flips > DRAWS / 2 - 1500 && flips < DRAWS / 2 + 1500);
}

/* Tests that the first and the last position occur as often as others. */
static void test_edges(void **state)
{
    const struct crop_range range = { { 0.25, 0.25 }, { 1, 1 }, { 0, 0 }, 0 };
    uint32_t counts[11] = { 0 };

    (void)state;
    for (uint32_t i = 0; i < 110000; i++) {
        const struct crop c = crop_draw(&range, i, 1, 20, 20);

        assert_int_equal(c.width, 10);
        counts[c.left]++;
        assert_false(c.flipped);
    }
    for (int i = 0; i < 11; i++)
        assert_in_range(counts[i], 9500, 10500);
}

static void test_logarithm(void **state)
{
    static const double cases[][2] = {
        { 1, 0 }, { 2, 0.6931471805599453 }, { 0.75, -0.2876820724517809 },
        { 4. / 3, 0.28768207245178085 }, { 1000, 6.907755278982137 }, { 0.001, -6.907755278982137 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const double off = crop_log(cases[i][0]) - cases[i][1];

        assert_true(off < 1e-14 && off > -1e-14);
    }
}

/* ---- Options --------------------------------------------------------------------------------- */

static void refused(const struct sheaf_pixels_options *options, const char *says)
{
    struct sheaf_error err;
    struct crop_plan plan;

    assert_int_equal(crop_plan_open(&plan, options, &err), SHEAF_ERR_ARGUMENT);
    if (strstr(err.message, says) == NULL)
        fail_msg("%s", err.message);
    crop_plan_close(&plan);
}

static void test_options(void **state)
{
    const struct sheaf_pixels_view many = { 2000, 96, 96, { 0.05, 0.32 } };
    const struct sheaf_pixels_view views[] = { { 2, 224, 224, { 0.32, 1 } },
                                               { 8, 96, 96, { 0.05, 0.32 } } };
    struct sheaf_pixels_options o, d;
    struct crop_plan plan;

    (void)state;
    sheaf_pixels_options_init(&d, sizeof(d));
#define REFUSED(CHANGE, SAYS) o = d; CHANGE; refused(&o, SAYS)
    REFUSED(o.width = 0, "the width of a crop is 0 pixels: expected 1 to 16384");
    REFUSED(o.height = 20000, "the height of a crop is 20000 pixels");
    REFUSED(o.scale[0] = 0, "scale is 0 to 1: expected two numbers above 0 and at most 1");
    REFUSED(o.scale[1] = 1.5, "scale is 0.08 to 1.5");
    REFUSED(o.ratio[0] = 2, "ratio is 2 to 1.33333: expected two numbers from 1/1000 to 1000");
    REFUSED(o.flip = 1.5, "flip is 1.5: expected a probability, 0 to 1");
    REFUSED(o.filter = (enum sheaf_resampling)7, "filter is 7: expected 0 to 2");
    REFUSED(o.resize = 300, "resize is 300, but only crop=center is made of a resized picture");
    REFUSED((o.crop = SHEAF_CROP_CENTER, o.resize = 200), "resize is 200 pixels, but the crop has");
    REFUSED((o.views = &many, o.view_count = 1), "2000 crops of a view: expected 1 or more");
    REFUSED((o.views = &many, o.view_count = 0), "0 views: expected 1 to 1024");
#undef REFUSED
    d.views = views;
    d.view_count = 2;
    assert_int_equal(crop_plan_open(&plan, &d, NULL), SHEAF_OK);
    assert_int_equal(plan.count, 10);
    assert_int_equal(plan.group_bytes[1], 8 * 96 * 96 * 3);
    assert_int_equal(plan.views[3].at, 96 * 96 * 3);
    crop_plan_close(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors), cmocka_unit_test(test_distribution),
        cmocka_unit_test(test_edges), cmocka_unit_test(test_logarithm),
        cmocka_unit_test(test_options),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
