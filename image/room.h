/* SPDX-License-Identifier: MIT
 *
 * Limits for a decoded image: pixels and memory. */
#ifndef IMAGE_ROOM_H
#define IMAGE_ROOM_H

#include <stdint.h>

#include "sheaf.h"

/* Largest number of pixels of a picture. Pillow also refuses larger pictures. */
#define IMAGE_PIXELS_MOST ((uint64_t)178956970)
#define IMAGE_SIDE_MOST   65535u        /* as of a JPEG */

/* Memory for pixels, which many threads share. `take` waits until enough memory is free, and fails
 * if the request is larger than the whole room. */
struct image_room {
    int (*take)(void *context, uint64_t bytes, struct sheaf_error *err);
    void (*give)(void *context, uint64_t bytes);
    void *context;
};

#endif
