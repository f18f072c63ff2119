/* SPDX-License-Identifier: MIT
 *
 * Rows first, then columns, each pixel a sum of bytes times weights of 22 binary digits: Pillow's
 * arithmetic, so the result is Pillow's, byte for byte, and the same on every machine.  Weights are
 * computed by additions, multiplications and divisions of doubles, in one order; the Makefile has
 * the compiler not contract them.
 *
 * Sums are of eight 32-bit numbers at once, which a compiler makes of any vector unit: of two rows
 * of RGB, or of eight grey ones (resample_filter.h).  Processors with AVX2 get code of their own.
 * Integers are exact. */
#include "packer/image/resample.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

#define DIGITS 22
#define LOBES  3
#define LANES  8

typedef int32_t lanes __attribute__((vector_size(4 * LANES)));

/* ---- Weights --------------------------------------------------------------------------------- */

/* Of one axis: each pixel of the result is `count` pixels from `first` on, times weights. */
struct axis {
    uint32_t size, most;        /* pixels of the result; the most of their counts */
    uint32_t *first, *count;
    int32_t *weights;           /* `most` for each */
};

/* sin(x)^2 / x^2 times the same of 3 x, at x = pi t / 3: as a power series in x^2, whose terms
 * beyond these are less than 2^-52. */
static double lanczos(double t)
{
    const double pi = 3.14159265358979323846;
    static const double factors[] = {
        1. / 6, 1. / 20, 1. / 42, 1. / 72, 1. / 110, 1. / 156, 1. / 210, 1. / 272, 1. / 342,
        1. / 420, 1. / 506, 1. / 600, 1. / 702, 1. / 812,
    };
    const double p = pi * pi / (LOBES * LOBES) * (t * t);
    double sinc = 1;

    for (size_t k = COUNT_OF(factors); k > 0; k--)
        sinc = 1 - p * factors[k - 1] * sinc;
    return sinc * sinc * (1 - 4 * p * sinc * sinc / 3);
}

static void weigh(struct axis *axis, uint32_t at, double center, double scale, double *weight)
{
    int32_t *fixed = axis->weights + (size_t)at * axis->most;
    double sum = 0;

    for (uint32_t k = 0; k < axis->count[at]; k++) {
        const double t = ((double)axis->first[at] + k - center + 0.5) / scale;

        weight[k] = t > -LOBES && t < LOBES ? lanczos(t) : 0;
        sum += weight[k];
    }
    for (uint32_t k = 0; k < axis->count[at]; k++) {
        const double value = weight[k] / sum * (1 << DIGITS);

        fixed[k] = (int32_t)(value < 0 ? value - 0.5 : value + 0.5);
    }
}

static void axis_close(struct axis *axis)
{
    free(axis->first);
    free(axis->count);
    free(axis->weights);
}

/* `in` pixels, which stand for `of` / `divisor`, become `out`. */
static int axis_open(struct axis *axis, uint32_t in, uint32_t of, unsigned divisor, uint32_t out,
                     struct sheaf_error *err)
{
    const double scale = (double)of / divisor / out, support = LOBES * scale;
    const uint32_t most = (uint32_t)(2 * support) + 3;
    double *weight = calloc(most, sizeof(*weight));

    *axis = (struct axis){ .size = out, .most = most };
    axis->first = calloc(out, sizeof(axis->first[0]));
    axis->count = calloc(out, sizeof(axis->count[0]));
    axis->weights = calloc((size_t)out * most, sizeof(axis->weights[0]));
    if (weight == NULL || axis->first == NULL || axis->count == NULL || axis->weights == NULL) {
        free(weight);
        axis_close(axis);
        return err_memory(err, (size_t)out * most * sizeof(axis->weights[0]));
    }
    for (uint32_t i = 0; i < out; i++) {
        const double center = (i + 0.5) * scale;
        const double first = center - support + 0.5, end = center + support + 0.5;

        axis->first[i] = first < 0 ? 0 : (uint32_t)first;
        axis->count[i] = (end > in ? in : (uint32_t)end) - axis->first[i];
        weigh(axis, i, center, scale, weight);
    }
    free(weight);
    return SHEAF_OK;
}

/* ---- Loops ----------------------------------------------------------------------------------- */

/* What a sum begins with, so that it is rounded. */
#define HALF ((lanes){ 1 << (DIGITS - 1), 1 << (DIGITS - 1), 1 << (DIGITS - 1), 1 << (DIGITS - 1), \
                       1 << (DIGITS - 1), 1 << (DIGITS - 1), 1 << (DIGITS - 1), 1 << (DIGITS - 1) })

#define WIDEN_PLAIN(from)                                                                       \
    ((lanes){ (from)[0], (from)[1], (from)[2], (from)[3], (from)[4], (from)[5], (from)[6],      \
              (from)[7] })

static inline void narrow_plain(uint8_t *to, const lanes *sum)
{
    for (int i = 0; i < LANES; i++) {
        const int32_t value = (*sum)[i] >> DIGITS;

        to[i] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
    }
}

#define FILTER(name)            name##_plain
#define FILTER_TARGET
#define FILTER_WIDEN(from)      WIDEN_PLAIN(from)
#define FILTER_WIDEN_TWO(a, b)                                                                  \
    ((lanes){ (a)[0], (a)[1], (a)[2], (a)[3], (b)[0], (b)[1], (b)[2], (b)[3] })
#define FILTER_NARROW(to, sum)  narrow_plain(to, &(sum))
#include "packer/image/resample_filter.h"
#undef FILTER
#undef FILTER_TARGET
#undef FILTER_WIDEN
#undef FILTER_WIDEN_TWO
#undef FILTER_NARROW

#ifdef __x86_64__
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

AVX2 static inline __m256i widen_avx2(const uint8_t *from)
{
    uint64_t eight;

    memcpy(&eight, from, sizeof(eight));
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)eight));
}

AVX2 static inline __m256i widen_two_avx2(const uint8_t *a, const uint8_t *b)
{
    int low, high;

    memcpy(&low, a, sizeof(low));
    memcpy(&high, b, sizeof(high));
    return _mm256_cvtepu8_epi32(_mm_set_epi32(0, 0, high, low));
}

/* The halves are packed each by itself. */
AVX2 static inline void narrow_avx2(uint8_t *to, __m256i sum)
{
    const __m256i value = _mm256_srai_epi32(sum, DIGITS);
    const __m256i words = _mm256_packs_epi32(value, value);
    const __m256i bytes = _mm256_packus_epi16(words, words);
    const int low = _mm_cvtsi128_si32(_mm256_castsi256_si128(bytes));
    const int high = _mm_cvtsi128_si32(_mm256_extracti128_si256(bytes, 1));

    memcpy(to, &low, sizeof(low));
    memcpy(to + 4, &high, sizeof(high));
}

#define FILTER(name)            name##_avx2
#define FILTER_TARGET           AVX2
#define FILTER_WIDEN(from)      ((lanes)widen_avx2(from))
#define FILTER_WIDEN_TWO(a, b)  ((lanes)widen_two_avx2(a, b))
#define FILTER_NARROW(to, sum)  narrow_avx2(to, (__m256i)(sum))
#include "packer/image/resample_filter.h"
#undef FILTER
#undef FILTER_TARGET
#undef FILTER_WIDEN
#undef FILTER_WIDEN_TWO
#undef FILTER_NARROW
#endif

/* ---- The picture ----------------------------------------------------------------------------- */

typedef void rows_fn(const struct axis *axis, const struct pixels *from, struct pixels *to,
                     lanes *packed);
typedef void columns_fn(const struct axis *axis, const struct pixels *from, struct pixels *to);

static void choose(rows_fn **rows, columns_fn **columns)
{
    *rows = rows_plain;
    *columns = columns_plain;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        *rows = rows_avx2;
        *columns = columns_avx2;
    }
#endif
}

static int filter_width(struct pixels *p, const struct axis *axis, rows_fn *rows,
                        struct sheaf_error *err)
{
    const size_t bytes = 2 * (size_t)p->width * sizeof(lanes);
    lanes *packed = aligned_alloc(sizeof(lanes), bytes);
    struct pixels result;
    int code = packed == NULL ? err_memory(err, bytes)
                              : pixels_map(&result, axis->size, p->height, p->channels, err);

    if (code == SHEAF_OK) {
        rows(axis, p, &result, packed);
        pixels_close(p);
        *p = result;
    }
    free(packed);
    return code;
}

static int filter_height(struct pixels *p, const struct axis *axis, columns_fn *columns,
                         struct sheaf_error *err)
{
    struct pixels result;
    const int code = pixels_map(&result, p->width, axis->size, p->channels, err);

    if (code == SHEAF_OK) {
        columns(axis, p, &result);
        pixels_close(p);
        *p = result;
    }
    return code;
}

int resample(struct pixels *p, uint32_t of_width, uint32_t of_height, unsigned divisor,
             uint32_t width, uint32_t height, struct sheaf_error *err)
{
    struct axis across = { 0 }, down = { 0 };
    rows_fn *rows;
    columns_fn *columns;
    int code = axis_open(&across, p->width, of_width, divisor, width, err);

    choose(&rows, &columns);
    if (code == SHEAF_OK)
        code = axis_open(&down, p->height, of_height, divisor, height, err);
    if (code == SHEAF_OK)
        code = filter_width(p, &across, rows, err);
    if (code == SHEAF_OK)
        code = filter_height(p, &down, columns, err);
    axis_close(&across);
    axis_close(&down);
    return code;
}
