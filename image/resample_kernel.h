/* SPDX-License-Identifier: MIT
 *
 * The loops of resampling: plain ones, which every compiler makes of any vector unit, and others
 * for processors that have more.  All give the same integers.
 *
 * A product of a byte and a weight of 23 bits is summed in two parts, of the weight's upper bits
 * and of its lower eight, so that a multiplication of 16-bit numbers will do. */
#ifndef IMAGE_RESAMPLE_KERNEL_H
#define IMAGE_RESAMPLE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#define RESAMPLE_DIGITS 22      /* binary ones of a weight behind its point */
#define RESAMPLE_HALF   (1 << (RESAMPLE_DIGITS - 1))
#define RESAMPLE_ROWS   16u     /* that are filtered side by side; and columns */

/* Of two neighbours: each weight is 256 times `high` and `low`, which is 0 to 255. */
struct resample_pair {
    int16_t high[2], low[2];
};

/* One side of the result: each of its pixels is the sum of 2 * `pairs` pixels from `first` on,
 * which is even, times weights. */
struct resample_axis {
    uint32_t size, most;        /* pixels of the result; the most of their pairs */
    uint32_t *first, *pairs;
    struct resample_pair *weights;      /* `most` for each */
};

struct resample_kernel {
    /* Makes a tile of sixteen rows.  For each two columns, of which there are a multiple of
     * sixteen, it has a number of each row: the first byte, and 65536 times the second. */
    void (*tile)(const uint8_t *from, size_t stride, uint32_t columns, uint32_t *tile);
    /* Of a tile, each column of the result: sixteen bytes, one of each row. */
    void (*across)(const struct resample_axis *axis, const uint32_t *tile, uint8_t *to);
    /* Columns of sixteen bytes, of which there are a multiple of sixteen, as sixteen rows. */
    void (*untile)(const uint8_t *from, uint32_t columns, uint8_t *to, size_t stride);
    /* One row of the result, of pairs of rows; its columns are a multiple of sixteen. */
    void (*down)(const struct resample_pair *weights, uint32_t pairs, const uint8_t *from,
                 size_t stride, uint32_t columns, uint8_t *to);
};

extern const struct resample_kernel resample_plain;
/* NULL: this processor is not for it. */
const struct resample_kernel *resample_avx2(void);

#endif
