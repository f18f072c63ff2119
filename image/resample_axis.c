/* SPDX-License-Identifier: MIT
 *
 * Computes the weights with which the resampler resizes a picture. All additions, multiplications
 * and divisions are done in one fixed order, and the Makefile forbids the compiler to fuse them. So
 * the weights are the same on every machine. Several weights are computed at the same time, because
 * the computation of one weight is a long chain in which each step waits for the step before. */
#include "image/resample_axis.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

#define LOBES 3
#define SIDE_BY_SIDE 8u

/* Two doubles in one vector, because every processor can compute with vectors of this size.
 * Compilers make slower code for larger vectors. */
typedef double doubles __attribute__((vector_size(16)));
typedef int64_t masks __attribute__((vector_size(16)));

#define EACH(STATEMENT) STATEMENT(0); STATEMENT(1); STATEMENT(2); STATEMENT(3)

/* Computes the weights of Pillow's Lanczos filter: sinc(t) * sinc(t / 3), or 0 if t is outside of
 * the filter's range. Uses a power series in x^2, where x = pi t / 3. The omitted terms of the
 * series are less than 2^-52. */
static void lanczos(const doubles t[4], doubles value[4])
{
    const double pi = 3.14159265358979323846;
    /* reciprocals of factorials of odd numbers, with alternating sign */
    static const double factors[] = {
        1., -1. / 6, 1. / 120, -1. / 5040, 1. / 362880, -1. / 39916800, 1. / 6227020800.,
        -1. / 1307674368000., 1. / 355687428096000., -1. / 121645100408832000.,
        1. / 51090942171709440000., -1. / 25852016738884976640000.,
        1. / 15511210043330985984000000., -1. / 10888869450418352160768000000.,
        1. / 8841761993739701954543616000000.,
    };
    const doubles zero = { 0, 0 };
    doubles p0, p1, p2, p3, s0 = zero, s1 = zero, s2 = zero, s3 = zero;

#define SQUARE(i) p##i = pi * pi / (LOBES * LOBES) * (t[i] * t[i])
#define TERM(i)   s##i = s##i * p##i + factors[k - 1]
#define END(i)                                                                                  \
    value[i] = s##i * s##i * (1 - p##i * s##i * s##i * (4. / 3));                               \
    value[i] = (doubles)((masks)value[i] & (t[i] > zero - LOBES) & (t[i] < zero + LOBES))

    EACH(SQUARE);
    for (size_t k = COUNT_OF(factors); k > 0; k--) {
        EACH(TERM);
    }
    EACH(END);
#undef SQUARE
#undef TERM
#undef END
}

static double filter_scale(const struct resample_side *side)
{
    return MAX(side->extent / side->out_extent, 1.0);
}

/* Returns the radius of a filter in pixels, before it is widened for shrinking. */
static double reach(enum resample_filter filter)
{
    return filter == RESAMPLE_LANCZOS ? LOBES : filter == RESAMPLE_BICUBIC ? 2 : 1;
}

uint32_t resample_axis_most(const struct resample_side *side)
{
    return (uint32_t)(reach(side->filter) * filter_scale(side)) + 3;
}

static double bilinear(double x)
{
    const double t = x < 0 ? -x : x;

    return t < 1 ? 1 - t : 0;
}

/* Returns the value of the bicubic filter of Keys, with a = -1/2. */
static double bicubic(double x)
{
    const double t = x < 0 ? -x : x, a = -0.5;

    if (t < 1)
        return ((a + 2) * t - (a + 3)) * t * t + 1;
    return t < 2 ? (((t - 5) * t + 8) * t - 4) * a : 0;
}

static void weigh_lanczos(double *weight, uint32_t first, uint32_t count, double center,
                          double per_pixel)
{
    for (uint32_t k = 0; k < count; k += SIDE_BY_SIDE) {
        const double at = (double)first + k - center + 0.5;
        doubles t[4], value[4];

        for (int i = 0; i < 4; i++)
            t[i] = (doubles){ at + 2 * i, at + 2 * i + 1 } * per_pixel;
        lanczos(t, value);
        memcpy(weight + k, value, sizeof(value));
    }
}

/* Computes the weights with which `count` input pixels, beginning with pixel `first`, contribute to
 * one output pixel. `center` is the position of the output pixel's middle in the input. The sum of
 * the weights is 1. */
static void weigh(double *weight, uint32_t first, uint32_t count, double center,
                  const struct resample_side *side)
{
    const double per_pixel = 1 / filter_scale(side);
    double sum = 0;

    if (side->filter == RESAMPLE_LANCZOS)
        weigh_lanczos(weight, first, count, center, per_pixel);
    for (uint32_t k = 0; k < count && side->filter != RESAMPLE_LANCZOS; k++) {
        const double x = ((double)(k + first) - center + 0.5) * per_pixel;

        weight[k] = side->filter == RESAMPLE_BICUBIC ? bicubic(x) : bilinear(x);
    }
    for (uint32_t k = 0; k < count; k++)
        sum += weight[k];
    for (uint32_t k = 0; k < count; k++)
        weight[k] /= sum;
}

/* Stores weights as whole numbers, rounded in the same way as Pillow does. */
static void resample_axis_put(struct resample_pair *pairs, uint32_t at, double weight)
{
    const double value = weight * (1 << RESAMPLE_DIGITS);
    const int32_t fixed = (int32_t)(value < 0 ? value - 0.5 : value + 0.5);

    pairs[at / 2].high[at % 2] = (int16_t)(fixed >> 8);
    pairs[at / 2].low[at % 2] = (int16_t)(fixed & 255);
}

static void resample_axis_fill(struct resample_axis *axis, const struct resample_side *side,
                               uint32_t step, double *weight)
{
    const double scale = side->extent / side->out_extent;
    const double support = reach(side->filter) * filter_scale(side);

    for (uint32_t i = 0; i < axis->size; i++) {
        const double center = (i + 0.5 + side->shift) * scale;
        const double from = center - support + 0.5, to = center + support + 0.5;
        const uint32_t first = from < 0 ? 0 : MIN((uint32_t)from, side->in - 1);
        const uint32_t end = MAX(to > side->in ? side->in : (uint32_t)to, first + 1);

        weigh(weight, first, end - first, center, side);
        axis->first[i] = first - first % step;
        axis->pairs[i] = (end - axis->first[i] + 1) / 2;
        for (uint32_t k = 0; k < end - first; k++)
            resample_axis_put(axis->weights + (size_t)i * axis->most, first % step + k, weight[k]);
    }
}

void resample_axis_cut(struct resample_axis *axis, const struct resample_side *side,
                       uint32_t *first, uint32_t *count)
{
    uint32_t end = 0;

    *first = UINT32_MAX;
    for (uint32_t i = 0; i < axis->size; i++) {
        *first = MIN(*first, axis->first[i]);
        end = MAX(end, axis->first[i] + 2 * axis->pairs[i]);
    }
    for (uint32_t i = 0; i < axis->size; i++)
        axis->first[i] -= *first;
    *count = MIN(end, side->in) - *first;
}

void resample_axis_mirror(struct resample_axis *axis)
{
    struct resample_pair *weights = axis->weights;

    for (uint32_t i = 0, k = axis->size - 1; i < k; i++, k--) {
        const uint32_t first = axis->first[i], pairs = axis->pairs[i];

        axis->first[i] = axis->first[k];
        axis->pairs[i] = axis->pairs[k];
        axis->first[k] = first;
        axis->pairs[k] = pairs;
        for (uint32_t n = 0; n < axis->most; n++) {
            const struct resample_pair pair = weights[(size_t)i * axis->most + n];

            weights[(size_t)i * axis->most + n] = weights[(size_t)k * axis->most + n];
            weights[(size_t)k * axis->most + n] = pair;
        }
    }
}

void resample_axis_close(struct resample_axis *axis)
{
    free(axis->first);
    free(axis->pairs);
    free(axis->weights);
}

static size_t in_columns(uint32_t count)
{
    return ((size_t)count + RESAMPLE_COLUMNS - 1) / RESAMPLE_COLUMNS * RESAMPLE_COLUMNS;
}

uint64_t resample_axis_bytes(const struct resample_side *side)
{
    const uint64_t room = in_columns(side->out), most = resample_axis_most(side);

    return room * (most * sizeof(struct resample_pair) + 2 * sizeof(uint32_t)) +
           (2 * most + SIDE_BY_SIDE) * sizeof(double);
}

int resample_axis_open(struct resample_axis *axis, const struct resample_side *side, uint32_t step,
                       struct sheaf_error *err)
{
    const uint32_t most = resample_axis_most(side);
    const size_t room = in_columns(side->out);
    double *weight = calloc(2 * (size_t)most + SIDE_BY_SIDE, sizeof(*weight));

    *axis = (struct resample_axis){ .size = side->out, .most = most };
    axis->first = calloc(room, sizeof(axis->first[0]));
    axis->pairs = calloc(room, sizeof(axis->pairs[0]));
    axis->weights = calloc(room * most, sizeof(axis->weights[0]));
    if (weight == NULL || axis->first == NULL || axis->pairs == NULL || axis->weights == NULL) {
        free(weight);
        resample_axis_close(axis);
        *axis = (struct resample_axis){ 0 };
        return err_memory(err, room * most * sizeof(axis->weights[0]));
    }
    resample_axis_fill(axis, side, step, weight);
    free(weight);
    return SHEAF_OK;
}
