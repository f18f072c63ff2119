/* SPDX-License-Identifier: MIT
 *
 * Makes the crops of one picture from the bytes of its image file. Usually only the needed rows and
 * columns of a JPEG are decoded. Images of other kinds, and JPEGs that are CMYK or must be turned,
 * are decoded completely and turned upright. Each crop has a crop_scaler, which takes the decoded
 * rows and resizes them. */
#ifndef IMAGE_CROP_PIXELS_H
#define IMAGE_CROP_PIXELS_H

#include "image/crop_plan.h"
#include "image/room.h"

/* Makes the crops of a picture. Writes the crops of group g of the plan (element g of
 * options.views) to out[g]. Writes the rectangle of each crop to `crops`, unless `crops` is NULL.
 *
 * Returns SHEAF_ERR_CORRUPT or SHEAF_ERR_UNSUPPORTED if this picture is faulty. The caller can then
 * crop other pictures. */
int crop_pixels(const struct crop_plan *plan, const void *data, size_t size, uint64_t seed,
                const struct image_room *room, uint8_t *const *out, struct sheaf_crop_box *crops,
                struct sheaf_error *err);

#endif
