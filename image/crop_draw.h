/* SPDX-License-Identifier: MIT
 *
 * Draws random crops by the rules of version "pixels1" in PIXELS.md. A test compares the crops with
 * the crops of an independent implementation.
 *
 * A crop depends only on the options, the seed, the number of the crop and the size of the picture.
 * So it is the same on every machine. */
#ifndef IMAGE_CROP_DRAW_H
#define IMAGE_CROP_DRAW_H

#include <stdbool.h>
#include <stdint.h>

/* A crop: a rectangle of a picture, in pixels. If `flipped` is true, the crop is mirrored (left and
 * right are exchanged). */
struct crop {
    uint32_t top, left, height, width;
    bool flipped;
};

/* The distribution of random crops. */
struct crop_range {
    /* smallest and largest area of a crop, as a part of the picture's area: above 0, at most 1 */
    double scale[2];
    double ratio[2], log_ratio[2];      /* range of width / height, and its logarithms (crop_log) */
    double flip;                /* probability of a mirror image */
};

/* Returns the natural logarithm of `x`, which must be greater than 0. Uses only additions,
 * multiplications and divisions, so the result is the same on every machine. */
double crop_log(double x);

/* Draws one of the random crops of a picture with this width and height. `seed` is the seed of the
 * sample, and `view` is the number of the crop. */
struct crop crop_draw(const struct crop_range *range, uint64_t seed, uint32_t view,
                      uint32_t width, uint32_t height);

#endif
