/* SPDX-License-Identifier: MIT
 *
 * Computes the weights along one side of a picture. */
#ifndef IMAGE_RESAMPLE_AXIS_H
#define IMAGE_RESAMPLE_AXIS_H

#include "image/resample_kernel.h"
#include "sheaf.h"

/* Pillow's filters. When a picture shrinks, the filter is widened by the ratio of the sizes, so
 * that no aliasing occurs. */
enum resample_filter { RESAMPLE_LANCZOS, RESAMPLE_BICUBIC, RESAMPLE_BILINEAR };

/* One side of a plane before and after resizing. The side's true length need not be a whole number
 * of pixels, because a chroma plane has half the picture's size, and a JPEG may be decoded at a
 * fraction of its size. Then the last pixel lies only partly within the side. */
struct resample_side {
    uint32_t in,                /* number of input pixels */
        out;                    /* number of output pixels */
    double extent,              /* length of the side in input pixels */
        out_extent,             /* length of the side in output pixels */
        shift;                  /* start of the first output pixel, in output pixels */
    enum resample_filter filter;
};

/* Computes the weights for one side. The first input pixel of each sum is made a multiple of
 * `step`, which is 2 if rows are rearranged into tiles (see resample_kernel.h), and otherwise 1. */
int resample_axis_open(struct resample_axis *axis, const struct resample_side *side, uint32_t step,
                       struct sheaf_error *err);
/* Returns the memory that an axis needs. */
uint64_t resample_axis_bytes(const struct resample_side *side);
void resample_axis_close(struct resample_axis *axis);
/* Leaves out the input pixels before and after the range that the result needs. The plane then
 * begins with pixel *first and has *count pixels. */
void resample_axis_cut(struct resample_axis *axis, const struct resample_side *side,
                       uint32_t *first, uint32_t *count);
/* Makes the result a mirror image. */
void resample_axis_mirror(struct resample_axis *axis);
/* Returns an upper bound for the number of pairs of input pixels from which one output pixel is
 * computed. */
uint32_t resample_axis_most(const struct resample_side *side);

#endif
