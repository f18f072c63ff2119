/* SPDX-License-Identifier: MIT
 *
 * The part of the run's memory that is for decoded images. A thread that needs image memory waits
 * for others to free theirs; while it holds some, it waits for nothing else. An image that is
 * larger than the whole part makes the run fail, and is not just left out, so that the content of a
 * data set does not depend on the machine. */
#ifndef PACKER_IMAGE_MEMORY_H
#define PACKER_IMAGE_MEMORY_H

#include <pthread.h>

#include "packer/block.h"

struct image_memory {
    struct image_room room;     /* the interface for image decoders */
    pthread_mutex_t lock;
    pthread_cond_t given;
    struct { uint64_t limit, used, peak; } locked;
};

/* Returns the part of the memory that is for decoded images; blocks get the rest. */
uint64_t image_memory_share(const struct block_setup *setup, uint64_t memory_bytes);

void image_memory_open(struct image_memory *memory, uint64_t limit);
void image_memory_close(struct image_memory *memory);
uint64_t image_memory_peak(struct image_memory *memory);

#endif
