/* SPDX-License-Identifier: MIT
 *
 * Crops of a mask: a PNG of the same size as its picture. A mask's pixels have one byte (palette
 * indices, or grey). The values stand for classes, so the crop never mixes them. */
#ifndef IMAGE_CROP_MASK_H
#define IMAGE_CROP_MASK_H

#include "image/crop_plan.h"
#include "image/image.h"

/* Crops a mask at the same positions at which crop_pixels crops a picture of this size with this
 * seed. Writes one byte for each pixel. The crops of group g of the plan (element g of
 * options.views) go to out[g]. Returns SHEAF_ERR_CORRUPT if the mask's size differs from the size
 * of the upright `picture`. If `picture` is NULL, the mask may have any size. */
int crop_mask(const struct crop_plan *plan, const void *data, size_t size,
              const struct image_look *picture, uint64_t seed, const struct image_room *room,
              uint8_t *const *out, struct sheaf_error *err);

#endif
