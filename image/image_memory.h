/* SPDX-License-Identifier: MIT
 *
 * Memory for decoded images, which several threads share. A thread that needs image memory waits
 * for others to free theirs. A thread that holds image memory waits for nothing else. If an image
 * needs more memory than there is in total, this is an error with the reason SHEAF_REASON_MEMORY.
 * The image does not count as a bad image and is never skipped, so the content of a data set does
 * not depend on the machine's memory. */
#ifndef IMAGE_IMAGE_MEMORY_H
#define IMAGE_IMAGE_MEMORY_H

#include <pthread.h>

#include "image/room.h"

struct image_memory {
    struct image_room room;     /* the interface for image decoders */
    pthread_mutex_t lock;
    pthread_cond_t given;
    struct { uint64_t limit, used, peak; } locked;
};

void image_memory_open(struct image_memory *memory, uint64_t limit);
void image_memory_close(struct image_memory *memory);
uint64_t image_memory_peak(struct image_memory *memory);

#endif
