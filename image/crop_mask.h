/* SPDX-License-Identifier: MIT
 *
 * The crops of a mask: a PNG of the size of a picture, whose values of one byte (the indices of a
 * palette, or grey) are classes, so they are never mixed. */
#ifndef IMAGE_CROP_MASK_H
#define IMAGE_CROP_MASK_H

#include "image/crop_plan.h"
#include "image/image.h"

/* Writes the same crops that crop_pixels makes of a picture of this size with this seed, one byte
 * for each pixel: those of group g of the plan to out[g]. A mask whose size is not that of the
 * upright `picture` is SHEAF_ERR_CORRUPT; NULL allows any size. */
int crop_mask(const struct crop_plan *plan, const void *data, size_t size,
              const struct image_look *picture, uint64_t seed, const struct image_room *room,
              uint8_t *const *out, struct sheaf_error *err);

#endif
