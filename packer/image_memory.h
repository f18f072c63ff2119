/* SPDX-License-Identifier: MIT
 *
 * The part of the memory that decoded images get.  Threads wait for each other there: who has some
 * waits for nothing else.  An image that is larger than all of it is an error of the run, not of
 * the image, so that what is in a data set does not depend on the machine. */
#ifndef PACKER_IMAGE_MEMORY_H
#define PACKER_IMAGE_MEMORY_H

#include <pthread.h>

#include "packer/block.h"

struct image_memory {
    struct image_room room;     /* as the images know it */
    pthread_mutex_t lock;
    pthread_cond_t given;
    struct { uint64_t limit, used, peak; } locked;
};

/* How much of the memory images get, beside blocks. */
uint64_t image_memory_share(const struct block_setup *setup, uint64_t memory_bytes);

void image_memory_open(struct image_memory *memory, uint64_t limit);
void image_memory_close(struct image_memory *memory);
uint64_t image_memory_peak(struct image_memory *memory);

#endif
