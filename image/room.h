/* SPDX-License-Identifier: MIT
 *
 * What a decoded image may take: pixels, and memory. */
#ifndef IMAGE_ROOM_H
#define IMAGE_ROOM_H

#include <stdint.h>

#include "sheaf.h"

/* As many pixels as a picture may have; Pillow refuses more, too. */
#define IMAGE_PIXELS_MOST ((uint64_t)178956970)
#define IMAGE_SIDE_MOST   65535u        /* as of a JPEG */

/* Memory for pixels, which many threads share.  `take` waits until there is so much, and fails if
 * there never will be. */
struct image_room {
    int (*take)(void *context, uint64_t bytes, struct sheaf_error *err);
    void (*give)(void *context, uint64_t bytes);
    void *context;
};

#endif
