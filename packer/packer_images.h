/* SPDX-License-Identifier: MIT
 *
 * Prepares the images of samples that a program or a conversion appends: decodes images to check
 * them, or replaces them by other JPEGs. Several samples are prepared at the same time, on the
 * engine's threads. */
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
    /* position in `made` at which the JPEG of each field begins; SIZE_MAX for a field without a
     * new JPEG */
    size_t *starts;
    struct buf made;            /* JPEGs */
    struct image_change *changes;       /* of each field */
    uint64_t resized;
    int code;
    size_t refused;             /* the field that an error blames; SIZE_MAX: none */
    struct sheaf_error error;
};

struct packer_images {
    struct ready_sample samples[IMAGES_AT_ONCE];
    /* number of prepared samples, and index of the sample that is appended next */
    size_t count, next;
    /* largest number of bytes of JPEGs that were made but not yet packed */
    uint64_t peak;
};

/* Returns the part of the memory for JPEGs that are made but not yet packed. */
uint64_t packer_images_share(const struct block_setup *setup, uint64_t memory_bytes);

/* Returns how many of the samples form a group, beginning with the first. The fields of a group
 * have at most `most_bytes` bytes together, unless the group has only one sample. */
size_t packer_images_group(const struct sheaf_sample *samples, size_t count, uint64_t most_bytes);

/* Adds one more sample to the group. Copies its list of fields; the data of the fields must stay
 * valid until the sample is packed. */
int packer_images_add(struct packer_images *images, const struct engine *engine,
                      const struct sheaf_sample *sample, struct sheaf_error *err);
/* Prepares the images of all samples in the group, and waits until all are done. */
void packer_images_run(struct packer_images *images, const struct engine *engine);
/* Returns the next prepared sample, or NULL if there is none. */
struct ready_sample *packer_images_next(struct packer_images *images);

void packer_images_free(struct packer_images *images);    /* NULL is fine */

#endif
