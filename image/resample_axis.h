/* SPDX-License-Identifier: MIT
 *
 * Computes the weights along one side of a picture. */
#ifndef IMAGE_RESAMPLE_AXIS_H
#define IMAGE_RESAMPLE_AXIS_H

#include "image/resample_kernel.h"
#include "sheaf.h"

/* Filters of Pillow. When a picture shrinks, the filter covers more pixels, in proportion to the
 * reduction. Otherwise aliasing would occur. */
enum resample_filter { RESAMPLE_LANCZOS, RESAMPLE_BICUBIC, RESAMPLE_BILINEAR };

/* Sizes of one side of a plane before and after resizing, in pixels. The true length (extent) of a
 * side need not be a whole number. For example, the colour plane of a picture with 5 columns has 3
 * columns, but its extent is 2.5. In such a case, only a part of the last pixel belongs to the
 * side. */
struct resample_side {
    uint32_t in,                /* number of input pixels */
        out;                    /* number of output pixels */
    double extent,              /* length of the side in input pixels */
        out_extent,             /* length of the side in output pixels */
        shift;                  /* start of the first output pixel, in output pixels */
    enum resample_filter filter;
};

/* Computes the weights for one side. Each output pixel is a weighted sum of consecutive input
 * pixels. The number of the first of these input pixels is always a multiple of `step`. `step` must
 * be 2 if rows are rearranged into tiles (see resample_kernel.h), because a tile stores pixels in
 * pairs. Otherwise it is 1. */
int resample_axis_open(struct resample_axis *axis, const struct resample_side *side, uint32_t step,
                       struct sheaf_error *err);
/* Returns the memory that an axis needs. */
uint64_t resample_axis_bytes(const struct resample_side *side);
void resample_axis_close(struct resample_axis *axis);
/* Leaves out unused input pixels at the beginning and at the end of the side. No output pixel has a
 * weight for them. The caller must then pass only *count pixels to the resampler, beginning with
 * pixel *first. */
void resample_axis_cut(struct resample_axis *axis, const struct resample_side *side,
                       uint32_t *first, uint32_t *count);
/* Makes the result a mirror image. */
void resample_axis_mirror(struct resample_axis *axis);
/* Returns an upper bound for the number of pairs of input pixels that contribute to one output
 * pixel. Pixels are counted in pairs, because vector units multiply two neighbouring pixels with
 * their weights and add the products in one instruction. */
uint32_t resample_axis_most(const struct resample_side *side);

#endif
