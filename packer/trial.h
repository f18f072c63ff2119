/* SPDX-License-Identifier: MIT
 *
 * While a plan is made, tests whether single samples can be packed.
 *
 * The test is needed for a split with a fixed number of samples of each class, because this split
 * must get only good samples. Without the test, bad samples would be found only when they are
 * packed. */
#ifndef PACKER_TRIAL_H
#define PACKER_TRIAL_H

#include "image/image_memory.h"
#include "packer/block.h"

struct trial {
    struct block_setup setup;
    struct image_memory images;
    struct block block;
};

/* Prepares tests of samples. `options` and `source` must be the options and the source of the run
 * that will pack the samples. If the call succeeds, the caller must call trial_close(). */
int trial_open(struct trial *trial, const struct sheaf_pack_options *options,
               const struct source *source, struct sheaf_error *err);
void trial_close(struct trial *trial);

/* Tests whether a sample can be packed, by packing it into memory, and sets *good. `record` is the
 * sample as it is stored in the plan. `context` is a struct trial, because the function has the
 * type plan_try_fn. */
int trial_try(void *context, const struct plan *plan, const uint8_t *record, size_t size,
              uint32_t label, bool *good, struct sheaf_error *err);

#endif
