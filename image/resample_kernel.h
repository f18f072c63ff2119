/* SPDX-License-Identifier: MIT
 *
 * The inner loops of the resampler. One set of loops works on every processor. There is another set
 * for AVX2. Both compute the same integers.
 *
 * A weight has 23 bits, but vector units multiply numbers of 16 bits. So there are two sums of
 * products of bytes and weights: one with the upper bits of the weights, and one with their lower
 * eight bits. */
#ifndef IMAGE_RESAMPLE_KERNEL_H
#define IMAGE_RESAMPLE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

/* number of binary digits of a weight after the point */
#define RESAMPLE_DIGITS 22
#define RESAMPLE_HALF   (1 << (RESAMPLE_DIGITS - 1))
/* number of rows (or columns) of a plane that the inner loops process in one call */
#define RESAMPLE_ROWS   16u
#define RESAMPLE_PIXEL_ROWS 2u  /* number of rows of pixels that are filtered together */
/* Number of columns that the inner loop for pixels of four bytes computes at once. */
#define RESAMPLE_COLUMNS    8u

/* The weights for two neighbouring input pixels. Each weight is split: it is 256 * `high` + `low`,
 * where `low` is 0 to 255. */
struct resample_pair {
    int16_t high[2], low[2];
};

/* The weights for one side of the result. Output pixel i is the weighted sum of 2 * pairs[i] input
 * pixels, beginning with input pixel first[i].
 *
 * The inner loops read more elements than they need, so the arrays are longer. They have elements
 * for a multiple of RESAMPLE_COLUMNS output pixels, and pairs[i] is 0 for the additional ones.
 * After the last pair of weights of a pixel, there is at least one pair of zeros. */
struct resample_axis {
    /* `size` is the number of pixels of the result. Each of these pixels has `most` elements of
     * `weights`, but output pixel i uses only the first pairs[i] of its elements. */
    uint32_t size, most;
    uint32_t *first, *pairs;
    struct resample_pair *weights;      /* `most` pairs for each output pixel */
};

struct resample_kernel {
    /* Joins one row of each of three planes to a row of pixels of three bytes. */
    void (*join)(const uint8_t *const from[3], uint32_t columns, uint8_t *to);
    /* Rearranges sixteen rows of bytes into a tile. The number of columns must be a multiple of
     * sixteen. Two neighbouring bytes of a row become one number of the tile: the first byte plus
     * 65536 times the second byte. For each pair of columns, the numbers of the sixteen rows follow
     * each other. */
    void (*tile)(const uint8_t *from, size_t stride, uint32_t columns, uint32_t *tile);
    /* Resizes the sixteen rows in a tile to the final width. Writes the result column by column.
     * Each column has sixteen bytes, one for each row. All numbers in axis->first must be even,
     * because a tile stores pixels in pairs. */
    void (*across)(const struct resample_axis *axis, const uint32_t *tile, uint8_t *to);
    /* Rearranges columns of sixteen bytes into sixteen rows. The number of columns must be a
     * multiple of sixteen. */
    void (*untile)(const uint8_t *from, uint32_t columns, uint8_t *to, size_t stride);
    /* Resizes two rows of pixels of four bytes (the fourth is ignored) to the final width. Writes
     * two rows to each of three planes, which begin `plane` bytes apart.
     *
     * Reads up to three pixels after the last pixel that it needs. Writes columns up to a multiple
     * of RESAMPLE_COLUMNS. */
    void (*pixels)(const struct resample_axis *axis, const uint8_t *from, size_t from_stride,
                   uint8_t *to, size_t stride, size_t plane);
    /* Computes one row of the result as a weighted sum of rows. The number of columns must be a
     * multiple of sixteen. */
    void (*down)(const struct resample_pair *weights, uint32_t pairs, const uint8_t *from,
                 size_t stride, uint32_t columns, uint8_t *to);
};

extern const struct resample_kernel resample_plain;
/* Returns the inner loops for AVX2. Returns NULL if this processor does not support AVX2. */
const struct resample_kernel *resample_avx2(void);

/* Returns the fastest inner loops for this processor. */
static inline const struct resample_kernel *resample_kernel(void)
{
    const struct resample_kernel *kernel = resample_avx2();

    return kernel != NULL ? kernel : &resample_plain;
}

#endif
