/* SPDX-License-Identifier: MIT
 *
 * The weights of one side of a picture. */
#ifndef IMAGE_RESAMPLE_AXIS_H
#define IMAGE_RESAMPLE_AXIS_H

#include "image/resample_kernel.h"
#include "sheaf.h"

/* One side of a plane.  It has `in` pixels, which stand for `extent` of them: the last ones may be
 * cut, or too many.  `out` are made of them, which stand for `out_extent`, and begin `shift` of
 * theirs after its edge. */
struct resample_side {
    uint32_t in, out;
    double extent, out_extent, shift;
};

int resample_axis_open(struct resample_axis *axis, const struct resample_side *side,
                       struct sheaf_error *err);
void resample_axis_close(struct resample_axis *axis);
/* The most pairs of one pixel. */
uint32_t resample_axis_most(const struct resample_side *side);

#endif
