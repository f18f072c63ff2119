/* SPDX-License-Identifier: MIT
 *
 * Prepares the images of samples that a program or a conversion appends. Images are decoded to
 * check them, or replaced by other JPEGs. Several samples are prepared at the same time, on the
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
    /* position in `made` at which the new JPEG of each field begins; SIZE_MAX for a field that
     * keeps its data */
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
    /* number of samples in the group, and index of the sample that will be appended next */
    size_t count, next;
    /* peak of the memory in bytes for images that were converted and not yet packed */
    uint64_t peak;
};

/* Returns the number of bytes of the run's memory for images that are converted but not yet
 * packed. */
uint64_t packer_images_share(const struct block_setup *setup, uint64_t memory_bytes);

/* Returns the number of samples, beginning with the first, that form the next group. The group is
 * limited so that its converted images will take at most `most_bytes` bytes. A group always has at
 * least one sample. */
size_t packer_images_group(const struct sheaf_sample *samples, size_t count, uint64_t most_bytes);

/* Adds one more sample to the group. Copies the sample's list of fields, but not their data, which
 * must stay valid until the sample is packed. */
int packer_images_add(struct packer_images *images, const struct engine *engine,
                      const struct sheaf_sample *sample, struct sheaf_error *err);
/* Converts or checks the images of all samples in the group on several threads, and waits until
 * this is done. */
void packer_images_run(struct packer_images *images, const struct engine *engine);
/* Returns the next sample of the group with its prepared images, or NULL at the end of the
 * group. */
struct ready_sample *packer_images_next(struct packer_images *images);

void packer_images_free(struct packer_images *images);    /* NULL is fine */

#endif
