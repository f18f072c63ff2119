/* SPDX-License-Identifier: MIT
 *
 * Makes a picture smaller by Lanczos' filter of three lobes, widened by the ratio so that nothing
 * aliases. */
#ifndef PACKER_IMAGE_RESAMPLE_H
#define PACKER_IMAGE_RESAMPLE_H

#include "packer/image/pixels.h"

/* Changes with every change of what it computes. */
#define RESAMPLE_VERSION 1

/* Replaces the picture, which stands for `of_width` / `divisor` columns and `of_height` / `divisor`
 * rows: its last ones may be cut by that. */
int resample(struct pixels *pixels, uint32_t of_width, uint32_t of_height, unsigned divisor,
             uint32_t width, uint32_t height, struct sheaf_error *err);

#endif
