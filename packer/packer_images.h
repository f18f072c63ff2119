/* SPDX-License-Identifier: MIT
 *
 * Prepares the images of samples that a program or a conversion appends: decodes them to check
 * them, or replaces them by other JPEGs. Several samples are handled at a time, on the threads of
 * the engine. */
#ifndef PACKER_PACKER_IMAGES_H
#define PACKER_PACKER_IMAGES_H

#include "packer/engine.h"

/* Largest number of samples in a group. */
#define IMAGES_AT_ONCE 64

/* A sample whose images are ready.  Zero-initialised. */
struct ready_sample {
    struct job job;
    const struct block_setup *setup;
    const struct image_room *room;
    struct sheaf_field *fields; /* as they are to be packed */
    size_t field_count, field_room;
    size_t *starts;             /* where the JPEG of each field begins in `made`; SIZE_MAX if it
                                   has none */
    struct buf made;            /* JPEGs */
    struct image_change *changes;       /* of each field */
    uint64_t resized;
    int code;
    size_t refused;             /* the field that an error blames; SIZE_MAX: none */
    struct sheaf_error error;
};

struct packer_images {
    struct ready_sample samples[IMAGES_AT_ONCE];
    size_t count, next;         /* number of ready samples, and the index of the next to be
                                   appended */
    uint64_t peak;              /* largest number of bytes of JPEGs that were made and not packed
                                   yet */
};

/* The part of the memory for JPEGs that were made and not packed yet. */
uint64_t packer_images_share(const struct block_setup *setup, uint64_t memory_bytes);

/* Returns how many of the first samples form a group: their fields have at most `most_bytes` bytes
 * together, or there is only one sample. */
size_t packer_images_group(const struct sheaf_sample *samples, size_t count, uint64_t most_bytes);

/* Takes a copy of the fields of one more sample, whose data must stay valid until it is packed. */
int packer_images_add(struct packer_images *images, const struct engine *engine,
                      const struct sheaf_sample *sample, struct sheaf_error *err);
/* Works on the images of all samples that were added to the group, and waits until it is done. */
void packer_images_run(struct packer_images *images, const struct engine *engine);
/* Returns the next sample that is ready, or NULL if there is none. */
struct ready_sample *packer_images_next(struct packer_images *images);

void packer_images_free(struct packer_images *images);    /* NULL is fine */

#endif
