/* SPDX-License-Identifier: MIT
 *
 * Inner loops of the resampler for any processor. They compute sixteen sums of 32 bits at a
 * time. */
#include "image/resample_kernel.h"

#include <string.h>

typedef int32_t lanes __attribute__((vector_size(4 * RESAMPLE_ROWS)));
typedef uint8_t bytes __attribute__((vector_size(RESAMPLE_ROWS)));

static void join_plain(const uint8_t *const from[3], uint32_t columns, uint8_t *to)
{
    for (uint32_t x = 0; x < columns; x++)
        for (int c = 0; c < 3; c++)
            *to++ = from[c][x];
}

static void tile_plain(const uint8_t *from, size_t stride, uint32_t columns, uint32_t *tile)
{
    for (uint32_t x = 0; x < columns; x += 2)
        for (uint32_t y = 0; y < RESAMPLE_ROWS; y++)
            *tile++ = from[y * stride + x] | (uint32_t)from[y * stride + x + 1] << 16;
}

static inline int32_t weight(const struct resample_pair *pair, int which)
{
    return pair->high[which] * 256 + pair->low[which];
}

static inline uint8_t narrow_one(int32_t sum)
{
    const int32_t value = (sum + RESAMPLE_HALF) >> RESAMPLE_DIGITS;

    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static inline void narrow(const lanes *sum, uint8_t *to)
{
    for (uint32_t i = 0; i < RESAMPLE_ROWS; i++)
        to[i] = narrow_one((*sum)[i]);
}

static void across_plain(const struct resample_axis *axis, const uint32_t *tile, uint8_t *to)
{
    for (uint32_t x = 0; x < axis->size; x++, to += RESAMPLE_ROWS) {
        const struct resample_pair *pair = axis->weights + (size_t)x * axis->most;
        const uint32_t *from = tile + (size_t)axis->first[x] / 2 * RESAMPLE_ROWS;
        lanes sum = { 0 };

        for (uint32_t k = 0; k < axis->pairs[x]; k++, pair++, from += RESAMPLE_ROWS) {
            lanes two;

            memcpy(&two, from, sizeof(two));
            sum += (two & 0xffff) * weight(pair, 0) + (two >> 16) * weight(pair, 1);
        }
        narrow(&sum, to);
    }
}

static void pixels_plain(const struct resample_axis *axis, const uint8_t *from, size_t from_stride,
                         uint8_t *to, size_t stride, size_t plane)
{
    for (uint32_t y = 0; y < RESAMPLE_PIXEL_ROWS; y++)
        for (uint32_t x = 0; x < axis->size; x++) {
            const struct resample_pair *pair = axis->weights + (size_t)x * axis->most;
            const uint8_t *at = from + y * from_stride + (size_t)axis->first[x] * 4;
            int32_t sum[3] = { 0 };

            for (uint32_t k = 0; k < axis->pairs[x]; k++, pair++, at += 8)
                for (int c = 0; c < 3; c++)
                    sum[c] += at[c] * weight(pair, 0) + at[4 + c] * weight(pair, 1);
            for (int c = 0; c < 3; c++)
                to[c * plane + y * stride + x] = narrow_one(sum[c]);
        }
}

static void untile_plain(const uint8_t *from, uint32_t columns, uint8_t *to, size_t stride)
{
    for (uint32_t x = 0; x < columns; x++)
        for (uint32_t y = 0; y < RESAMPLE_ROWS; y++)
            to[y * stride + x] = *from++;
}

static inline void resample_plain_add(lanes *sum, const uint8_t *from, int32_t times)
{
    bytes sixteen;

    memcpy(&sixteen, from, sizeof(sixteen));
    *sum += __builtin_convertvector(sixteen, lanes) * times;
}

static void down_plain(const struct resample_pair *weights, uint32_t pairs, const uint8_t *from,
                       size_t stride, uint32_t columns, uint8_t *to)
{
    for (uint32_t x = 0; x < columns; x += RESAMPLE_ROWS) {
        const uint8_t *at = from + x;
        lanes sum = { 0 };

        for (uint32_t k = 0; k < pairs; k++, at += 2 * stride) {
            resample_plain_add(&sum, at, weight(&weights[k], 0));
            resample_plain_add(&sum, at + stride, weight(&weights[k], 1));
        }
        narrow(&sum, to + x);
    }
}

const struct resample_kernel resample_plain = {
    join_plain, tile_plain, across_plain, untile_plain, pixels_plain, down_plain,
};
