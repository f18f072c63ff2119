/* SPDX-License-Identifier: MIT
 *
 * Tests resampling. Rows that arrive a few at a time must give the sums of the whole plane, and the
 * loops for all processors must give the same integers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "image/resample.h"
#include "tests/common_random.h"

static struct rng rng;

static uint32_t up_to(uint32_t most)
{
    return 1 + (uint32_t)rng_below(&rng, most);
}

/* Returns a random side: small or large, cut, or enlarged. */
static struct resample_side any_side(void)
{
    struct resample_side side = { .in = up_to(rng_below(&rng, 8) == 0 ? 900 : 150) };

    side.out = up_to(rng_below(&rng, 4) == 0 ? 2 * side.in : side.in);
    side.filter = (enum resample_filter)rng_below(&rng, 3);
    side.extent = side.in - (double)rng_below(&rng, 8) / 8;
    side.out_extent = side.out;
    if (rng_below(&rng, 3) == 0) {
        side.out_extent -= 0.5;
        side.shift = rng_below(&rng, 2) == 0 ? -0.5 : 0;
    }
    return side;
}

static uint8_t *any_bytes(size_t count)
{
    uint8_t *bytes = malloc(count);

    assert_non_null(bytes);
    for (size_t i = 0; i < count; i++)      /* extreme values, so that sums overflow if they can */
        bytes[i] = rng_below(&rng, 2) == 0 ? (uint8_t)rng_below(&rng, 256)
                                           : rng_below(&rng, 2) == 0 ? 255 : 0;
    return bytes;
}

/* ---- The whole plane ------------------------------------------------------------------------- */

/* Computes output pixel `at` of a row or column whose input pixels are `step` apart. */
static uint8_t sum_of(const struct resample_axis *axis, uint32_t at, const uint8_t *from,
                      size_t step, uint32_t in)
{
    int64_t sum = RESAMPLE_HALF, whole = 0;

    for (uint32_t k = 0; k < 2 * axis->pairs[at]; k++) {
        const struct resample_pair *pair = &axis->weights[(size_t)at * axis->most + k / 2];
        const int64_t weight = pair->high[k % 2] * 256 + pair->low[k % 2];

        whole += weight;
        if (axis->first[at] + k < in)
            sum += weight * from[(axis->first[at] + k) * step];
        else
            assert_int_equal(weight, 0);
    }
    assert_true(sum == (int32_t)sum);
    assert_in_range(whole, (1 << RESAMPLE_DIGITS) - 2 * axis->most,
                    (1 << RESAMPLE_DIGITS) + 2 * axis->most);
    sum >>= RESAMPLE_DIGITS;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

static uint8_t *expected_plane(const uint8_t *plane, size_t pixel,
                               const struct resample_side *across, const struct resample_side *down)
{
    struct resample_axis axis[2];
    uint8_t *wide = malloc((size_t)down->in * across->out);
    uint8_t *result = malloc((size_t)down->out * across->out);

    assert_int_equal(resample_axis_open(&axis[0], across, resampler_step(pixel == 1 ? 1 : 3), NULL),
                     SHEAF_OK);
    assert_int_equal(resample_axis_open(&axis[1], down, 1, NULL), SHEAF_OK);
    for (uint32_t y = 0; y < down->in; y++)
        for (uint32_t x = 0; x < across->out; x++)
            wide[y * across->out + x] =
                sum_of(&axis[0], x, plane + (size_t)y * across->in * pixel, pixel, across->in);
    for (uint32_t y = 0; y < down->out; y++)
        for (uint32_t x = 0; x < across->out; x++)
            result[y * across->out + x] = sum_of(&axis[1], y, wide + x, across->out, down->in);
    resample_axis_close(&axis[0]);
    resample_axis_close(&axis[1]);
    free(wide);
    return result;
}

static void test_rows_as_they_come(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        const struct resample_side across = any_side(), down = any_side();
        const uint32_t at_once = 1u << rng_below(&rng, 6);
        const size_t stride = ((size_t)across.out + 15) / 16 * 16;
        uint8_t *plane = any_bytes((size_t)across.in * down.in);
        uint8_t *expected = expected_plane(plane, 1, &across, &down);
        uint8_t *result = malloc(stride * down.out);
        struct resampler r;

        assert_int_equal(resampler_open(&r, &across, &down, result, stride, NULL), SHEAF_OK);
        if (round % 2 == 1)
            r.kernel = &resample_plain;
        for (uint32_t y = 0; y < down.in; y += at_once) {
            uint8_t *place = resampler_place(&r);

            for (uint32_t i = 0; i < at_once && y + i < down.in; i++)
                memcpy(place + i * r.staged_stride, plane + (size_t)(y + i) * across.in, across.in);
            resampler_add(&r, at_once);
        }
        assert_int_equal(r.made, down.out);
        for (uint32_t y = 0; y < down.out; y++)
            assert_memory_equal(result + y * stride, expected + (size_t)y * across.out, across.out);
        resampler_close(&r);
        free(plane);
        free(expected);
        free(result);
    }
}

static void test_pixels_as_they_come(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        const struct resample_side across = any_side(), down = any_side();
        const size_t stride = ((size_t)across.out + 15) / 16 * 16;
        struct resample_axes axes = { .columns = across.in, .rows = down.in };
        uint8_t *pixels = any_bytes((size_t)across.in * down.in * 4);
        uint8_t *result = malloc(3 * stride * down.out);
        const struct resample_place place = { result, stride, stride * down.out, 3 };
        struct resampler r;

        assert_int_equal(resample_axis_open(&axes.across, &across, resampler_step(3), NULL),
                         SHEAF_OK);
        assert_int_equal(resample_axis_open(&axes.down, &down, 1, NULL), SHEAF_OK);
        assert_int_equal(resampler_open_on(&r, &axes, &place, NULL), SHEAF_OK);
        if (round % 2 == 1)
            r.kernel = &resample_plain;
        for (uint32_t y = 0; y < down.in; y++) {
            memcpy(resampler_place(&r), pixels + (size_t)y * across.in * 4, (size_t)across.in * 4);
            resampler_add(&r, 1);
        }
        assert_int_equal(r.made, down.out);
        for (size_t c = 0; c < 3; c++) {
            uint8_t *expected = expected_plane(pixels + c, 4, &across, &down);

            for (uint32_t y = 0; y < down.out; y++)
                assert_memory_equal(result + c * place.plane + y * stride,
                                    expected + (size_t)y * across.out, across.out);
            free(expected);
        }
        resampler_close(&r);
        resample_axis_close(&axes.across);
        resample_axis_close(&axes.down);
        free(pixels);
        free(result);
    }
}

/* ---- Processors ------------------------------------------------------------------------------ */

#define COLUMNS 64u
#define STRIDE  80u
#define PIXEL_STRIDE (4 * (COLUMNS + 16))
#define OUT_MOST 48u

static void test_same_on_each_processor(void **state)
{
    const struct resample_kernel *other = resample_avx2();

    (void)state;
    if (other == NULL)
        skip();
    for (int round = 0; round < 200; round++) {
        const uint32_t out = up_to(OUT_MOST);
        const struct resample_side side = { COLUMNS, out, COLUMNS, out, 0, RESAMPLE_LANCZOS };
        uint8_t *rows = any_bytes(RESAMPLE_ROWS * STRIDE);
        uint32_t tile[2][COLUMNS / 2 * RESAMPLE_ROWS];
        uint8_t columns[2][OUT_MOST * RESAMPLE_ROWS] = { 0 };
        uint8_t back[2][RESAMPLE_ROWS * STRIDE] = { 0 }, row[2][COLUMNS];
        uint8_t planes[2][3 * RESAMPLE_PIXEL_ROWS * OUT_MOST] = { 0 };
        struct resample_axis axis;

        assert_int_equal(resample_axis_open(&axis, &side, 2, NULL), SHEAF_OK);
        for (int i = 0; i < 2; i++) {
            const struct resample_kernel *kernel = i == 0 ? &resample_plain : other;

            kernel->tile(rows, STRIDE, COLUMNS, tile[i]);
            kernel->across(&axis, tile[i], columns[i]);
            kernel->untile(columns[i], OUT_MOST, back[i], STRIDE);
            kernel->down(axis.weights, MIN(axis.pairs[0], RESAMPLE_ROWS / 2), rows, STRIDE, COLUMNS,
                         row[i]);
            kernel->pixels(&axis, rows, PIXEL_STRIDE, planes[i], OUT_MOST,
                           RESAMPLE_PIXEL_ROWS * OUT_MOST);
            for (uint32_t y = 0; y < 3 * RESAMPLE_PIXEL_ROWS; y++)      /* columns after the last */
                memset(planes[i] + y * OUT_MOST + out, 0, OUT_MOST - out);
        }
        assert_memory_equal(tile[0], tile[1], sizeof(tile[0]));
        assert_memory_equal(columns[0], columns[1], sizeof(columns[0]));
        assert_memory_equal(back[0], back[1], sizeof(back[0]));
        assert_memory_equal(row[0], row[1], sizeof(row[0]));
        assert_memory_equal(planes[0], planes[1], sizeof(planes[0]));
        resample_axis_close(&axis);
        free(rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_as_they_come),
        cmocka_unit_test(test_pixels_as_they_come),
        cmocka_unit_test(test_same_on_each_processor),
    };

    random_start(&rng);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
