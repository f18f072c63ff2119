/* SPDX-License-Identifier: MIT
 *
 * The kinds of image files, such as JPEG and PNG. */
#ifndef IMAGE_KIND_H
#define IMAGE_KIND_H

enum image_kind { IMAGE_UNKNOWN, IMAGE_JPEG, IMAGE_PNG, IMAGE_GIF, IMAGE_BMP, IMAGE_WEBP };

#endif
