/* SPDX-License-Identifier: MIT
 *
 * The crops of a mask: a PNG of the size of a picture. Its values have one byte (indices of a
 * palette, or grey). They stand for classes, so they are never mixed. */
#ifndef IMAGE_CROP_MASK_H
#define IMAGE_CROP_MASK_H

#include "image/crop_plan.h"
#include "image/image.h"

/* Crops a mask in the same places as crop_pixels crops a picture of this size with this seed, and
 * writes one byte for each pixel. The crops of group g of the plan go to out[g]. Returns
 * SHEAF_ERR_CORRUPT if the mask's size is not that of the upright `picture`; NULL allows any size.
 */
int crop_mask(const struct crop_plan *plan, const void *data, size_t size,
              const struct image_look *picture, uint64_t seed, const struct image_room *room,
              uint8_t *const *out, struct sheaf_error *err);

#endif
