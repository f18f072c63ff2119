/* SPDX-License-Identifier: MIT
 *
 * Crops a mask. A mask is a PNG of the same size as its picture, with one byte for each pixel: a
 * grey value or an index into a palette. The values stand for classes, so no two values are mixed
 * in the crop. */
#ifndef IMAGE_CROP_MASK_H
#define IMAGE_CROP_MASK_H

#include "image/crop_plan.h"
#include "image/image.h"

/* Makes the crops of a mask. `plan` and `seed` must have the same values as in the call of
 * crop_pixels for the picture, so that the crops of both show the same rectangles.
 *
 * Writes the crops of group g of the plan (element g of options.views) to out[g], one byte for each
 * pixel. Returns SHEAF_ERR_CORRUPT if the mask's size differs from the size of `picture` after the
 * picture is turned upright. If `picture` is NULL, the mask may have any size. */
int crop_mask(const struct crop_plan *plan, const void *data, size_t size,
              const struct image_look *picture, uint64_t seed, const struct image_room *room,
              uint8_t *const *out, struct sheaf_error *err);

#endif
