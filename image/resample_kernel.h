/* SPDX-License-Identifier: MIT
 *
 * The inner loops of resampling. There are plain loops, which a compiler can map to any vector
 * unit, and loops for processors with wider vector units. All of them give the same integers.
 *
 * A weight has 23 bits, which is too much for multiplications of 16-bit numbers. So products of
 * bytes and weights are summed in two parts: one sum for the upper bits of the weights, and one for
 * their lower eight bits. */
#ifndef IMAGE_RESAMPLE_KERNEL_H
#define IMAGE_RESAMPLE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#define RESAMPLE_DIGITS 22      /* binary digits of a weight after its point */
#define RESAMPLE_HALF   (1 << (RESAMPLE_DIGITS - 1))
/* number of rows of a plane (or of columns) that are filtered at the same time */
#define RESAMPLE_ROWS   16u
#define RESAMPLE_PIXEL_ROWS 2u  /* rows of pixels that are filtered side by side */
/* number of columns that are computed at the same time if rows consist of pixels */
#define RESAMPLE_COLUMNS    8u

/* The weights of two neighbouring pixels. Each weight is 256 * `high` + `low`, where `low` is 0 to
 * 255. */
struct resample_pair {
    int16_t high[2], low[2];
};

/* The weights for one side of the result. Output pixel i is the weighted sum of 2 * pairs[i] input
 * pixels, beginning with the input pixel first[i]. After these weights there is at least one more
 * pair of weights, which is 0. The arrays have room for a multiple of RESAMPLE_COLUMNS pixels. In
 * the entries after the last pixel, `pairs` is 0. */
struct resample_axis {
    uint32_t size,              /* number of pixels of the result */
        most;                   /* number of `weights` for each pixel; more than its `pairs` */
    uint32_t *first, *pairs;
    struct resample_pair *weights;      /* `most` for each */
};

struct resample_kernel {
    /* Joins a row of each of three planes to a row of pixels of three bytes. */
    void (*join)(const uint8_t *const from[3], uint32_t columns, uint8_t *to);
    /* Rearranges sixteen rows into a tile. `columns` is a multiple of sixteen. For each pair of
     * columns, the tile has one number for each row: the row's byte in the first column, plus 65536
     * times its byte in the second column. */
    void (*tile)(const uint8_t *from, size_t stride, uint32_t columns, uint32_t *tile);
    /* Computes the columns of the result from a tile. Each column has sixteen bytes, one for each
     * row. `first` of the axis must be even. */
    void (*across)(const struct resample_axis *axis, const uint32_t *tile, uint8_t *to);
    /* Converts columns of sixteen bytes into sixteen rows. The number of columns is a multiple of
     * sixteen. */
    void (*untile)(const uint8_t *from, uint32_t columns, uint8_t *to, size_t stride);
    /* Computes two rows of the result in each of three planes, which are `plane` bytes apart, from
     * two rows of pixels of four bytes. The fourth byte of a pixel is ignored. Reads up to three
     * pixels after the last pixel of a sum, and writes up to a multiple of RESAMPLE_COLUMNS
     * columns. */
    void (*pixels)(const struct resample_axis *axis, const uint8_t *from, size_t from_stride,
                   uint8_t *to, size_t stride, size_t plane);
    /* Computes one row of the result from pairs of input rows. The number of its columns is a
     * multiple of sixteen. */
    void (*down)(const struct resample_pair *weights, uint32_t pairs, const uint8_t *from,
                 size_t stride, uint32_t columns, uint8_t *to);
};

extern const struct resample_kernel resample_plain;
/* Returns the inner loops for AVX2, or NULL if this processor does not support AVX2. */
const struct resample_kernel *resample_avx2(void);

/* The fastest for this processor. */
static inline const struct resample_kernel *resample_kernel(void)
{
    const struct resample_kernel *kernel = resample_avx2();

    return kernel != NULL ? kernel : &resample_plain;
}

#endif
