/* SPDX-License-Identifier: MIT
 *
 * Makes the crops of one picture from the bytes of its file. Of a JPEG, only the rows and columns
 * that the crops need are decoded. Other pictures, and JPEGs that are CMYK or turned, are decoded
 * whole and turned upright. The pixels then go to the crop_scaler of each crop, which makes the
 * result. */
#ifndef IMAGE_CROP_PIXELS_H
#define IMAGE_CROP_PIXELS_H

#include "image/crop_plan.h"
#include "image/room.h"

/* Writes the crops of a picture. The crops of group g of the plan (element g of options.views) go
 * to out[g]. `crops` has room for the box of each crop, or is NULL. SHEAF_ERR_CORRUPT and
 * SHEAF_ERR_UNSUPPORTED mean that this picture is faulty; other pictures are not affected. */
int crop_pixels(const struct crop_plan *plan, const void *data, size_t size, uint64_t seed,
                const struct image_room *room, uint8_t *const *out, struct sheaf_crop_box *crops,
                struct sheaf_error *err);

#endif
