/* SPDX-License-Identifier: MIT
 *
 * Memory of a fixed size for decoded images, which several threads share. A thread takes all memory
 * for an image at once, and waits until other threads have given back enough. A thread that has
 * image memory waits for nothing else, so threads never wait for each other in a circle.
 *
 * If an image needs more than the whole memory, the error has the reason SHEAF_REASON_MEMORY. Such
 * an image does not count as faulty and is never skipped. Otherwise the content of a data set would
 * depend on the memory of the machine that packs it. */
#ifndef IMAGE_IMAGE_MEMORY_H
#define IMAGE_IMAGE_MEMORY_H

#include <pthread.h>

#include "base/budget.h"
#include "image/room.h"

struct image_memory {
    struct image_room room;     /* the interface for image decoders */
    pthread_mutex_t lock;
    pthread_cond_t given;
    struct { struct budget budget; } locked;
};

void image_memory_open(struct image_memory *memory, uint64_t limit);
void image_memory_close(struct image_memory *memory);
uint64_t image_memory_peak(struct image_memory *memory);

#endif
