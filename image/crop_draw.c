/* SPDX-License-Identifier: MIT
 *
 * Draws random crops as torchvision's RandomResizedCrop does.
 *
 * C libraries may round a logarithm differently on different machines. So this file computes
 * logarithms and exponentials by series. The Makefile forbids the compiler to fuse a multiplication
 * with an addition, which would round differently. */
#include "image/crop_draw.h"

#include <math.h>

#include "base/bytes.h"
#include "base/rng.h"

#define TRIES 10
/* Number of terms of the series for exp(x). The series is used only if |x| <= 1/2. The omitted
 * terms are then less than 2^-80, which does not change a double. */
#define TERMS 20

static double power(double x)
{
    double sum = 1, y = x;
    int halvings = 0;

    for (; y > 0.5 || y < -0.5; y /= 2)
        halvings++;
    for (int k = TERMS; k > 0; k--)
        sum = 1 + sum * y / k;
    for (; halvings > 0; halvings--)
        sum *= sum;
    return sum;
}

/* Computes the natural logarithm of x by eight steps of Halley's iteration, as PIXELS.md requires.
 * (Four steps would already be exact to the last digit.) */
double crop_log(double x)
{
    double whole = 0, y = 0;

    for (; x > 2; x /= 2)
        whole += 1;
    for (; x < 0.5; x *= 2)
        whole -= 1;
    for (int i = 0; i < 8; i++) {
        const double e = power(y);

        y += 2 * (x - e) / (x + e);
    }
    return whole * 0.69314718055994530942 + y;
}

/* Returns the next random number, which is at least 0 and less than 1. */
static double crop_draw_do(struct rng *rng)
{
    return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

static double between(const double range[2], double at)
{
    return range[0] + (range[1] - range[0]) * at;
}

/* Returns the position of a crop along one side of the picture. `rest` is the number of pixels of
 * this side that are not in the crop, so the positions 0 to `rest` are possible. `at` (from 0 up to
 * but not including 1) selects one of them. */
static uint32_t place(double at, uint32_t rest)
{
    return MIN((uint32_t)(at * ((double)rest + 1)), rest);
}

/* Returns a crop in the middle of the picture, for use when no random crop fits. It is the largest
 * crop whose ratio of width to height lies in the range range->ratio. */
static struct crop fall_back(const struct crop_range *range, uint32_t width, uint32_t height)
{
    const double ratio = (double)width / height;
    struct crop crop = { .width = width, .height = height };

    if (ratio < range->ratio[0])
        crop.height = (uint32_t)rint(width / range->ratio[0]);
    else if (ratio > range->ratio[1])
        crop.width = (uint32_t)rint(height * range->ratio[1]);
    crop.width = MAX(MIN(crop.width, width), 1);
    crop.height = MAX(MIN(crop.height, height), 1);
    crop.top = (height - crop.height) / 2;
    crop.left = (width - crop.width) / 2;
    return crop;
}

struct crop crop_draw(const struct crop_range *range, uint64_t seed, uint32_t view,
                      uint32_t width, uint32_t height)
{
    const double area = (double)width * height;
    struct crop crop = { 0 };
    struct rng rng;
    bool flipped;

    rng_seed(&rng, RNG_PIXELS, seed, view, 0);
    flipped = crop_draw_do(&rng) < range->flip;
    for (int i = 0; i < TRIES; i++) {
        const double own = area * between(range->scale, crop_draw_do(&rng));
        const double ratio = power(between(range->log_ratio, crop_draw_do(&rng)));
        const double down = crop_draw_do(&rng), across = crop_draw_do(&rng);
        const double wide = rint(sqrt(own * ratio)), high = rint(sqrt(own / ratio));

        if (wide < 1 || wide > width || high < 1 || high > height)
            continue;
        crop.width = (uint32_t)wide;
        crop.height = (uint32_t)high;
        crop.top = place(down, height - crop.height);
        crop.left = place(across, width - crop.width);
        break;
    }
    if (crop.width == 0)
        crop = fall_back(range, width, height);
    crop.flipped = flipped;
    return crop;
}
