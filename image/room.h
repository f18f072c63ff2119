/* SPDX-License-Identifier: MIT
 *
 * Limits for a decoded image: pixels and memory. */
#ifndef IMAGE_ROOM_H
#define IMAGE_ROOM_H

#include <stdint.h>

#include "sheaf.h"

/* Largest number of pixels that a picture may have. Pillow has the same limit. */
#define IMAGE_PIXELS_MOST ((uint64_t)178956970)
/* largest width or height in pixels; a JPEG has the same limit */
#define IMAGE_SIDE_MOST   65535u

/* Image memory that many threads share. `take` waits until the requested number of bytes is free.
 * It returns an error if the request is larger than the whole memory, because it could then wait
 * forever. */
struct image_room {
    int (*take)(void *context, uint64_t bytes, struct sheaf_error *err);
    void (*give)(void *context, uint64_t bytes);
    void *context;
};

#endif
