/* SPDX-License-Identifier: MIT
 *
 * Draws a random crop of a picture by version "pixels1" of PIXELS.md. Tests compare the crops with
 * vectors from an independent implementation. A crop depends only on the options, the seed, the
 * crop's number and the size of the picture, so it is the same on every machine. */
#ifndef IMAGE_CROP_DRAW_H
#define IMAGE_CROP_DRAW_H

#include <stdbool.h>
#include <stdint.h>

/* A rectangle of a picture in pixels, and whether it is mirrored. */
struct crop {
    uint32_t top, left, height, width;
    bool flipped;
};

/* The distribution of random crops. */
struct crop_range {
    double scale[2];            /* of the picture's area; above 0, at most 1 */
    double ratio[2], log_ratio[2];      /* width / height; the logarithms by crop_log */
    double flip;                /* probability of a mirror image */
};

/* Returns the natural logarithm of a number above 0. Uses only additions, multiplications and
 * divisions. */
double crop_log(double x);

/* Draws the crop with the number `view` for a sample with this seed, from a picture of this
 * size. */
struct crop crop_draw(const struct crop_range *range, uint64_t seed, uint32_t view,
                      uint32_t width, uint32_t height);

#endif
