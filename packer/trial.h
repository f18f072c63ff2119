/* SPDX-License-Identifier: MIT
 *
 * While a plan is made, tests whether samples can be packed. A split with a fixed number of
 * samples of each class must get only good samples; otherwise bad samples would be found only by
 * packing. */
#ifndef PACKER_TRIAL_H
#define PACKER_TRIAL_H

#include "image/image_memory.h"
#include "packer/block.h"

struct trial {
    struct block_setup setup;
    struct image_memory images;
    struct block block;
};

/* Opens a trial. `options` and `source` must be those of the run. If the call succeeds, trial_close
 * must be called. */
int trial_open(struct trial *trial, const struct sheaf_pack_options *options,
               const struct source *source, struct sheaf_error *err);
void trial_close(struct trial *trial);

/* Tests whether a sample, given by its record in the plan, can be packed, by packing it into
 * memory. The function has the type plan_try_fn. `context` is a struct trial. */
int trial_try(void *context, const struct plan *plan, const uint8_t *record, size_t size,
              uint32_t label, bool *good, struct sheaf_error *err);

#endif
