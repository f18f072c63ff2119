/* SPDX-License-Identifier: MIT
 *
 * Packs some or all shards of a plan into a destination with the engine. This code is used if the
 * plan is packed where it was made, and also if several machines share a stored plan. */
#ifndef PACKER_RUN_H
#define PACKER_RUN_H

#include <stdbool.h>

#include "packer/engine.h"
#include "packer/plan/plan_section.h"

struct pack_run {
    const struct sheaf_pack_options *options;   /* jobs and memory_bytes are used */
    const struct block_setup *setup;
    const struct output *output;
    struct problems *problems;
    struct watch *watch;
    struct plan_rows rows;
    size_t first, end;          /* its shards */
    bool resumes;               /* whether some shards may exist */
};

/* Returns SHEAF_ERR_LIMIT if a sample, or a shard that is sent to a remote store, needs more memory
 * than the run may use. The caller must call this before anything is written or removed. */
int run_check_memory(const struct pack_run *run, struct sheaf_error *err);
/* Returns SHEAF_ERR_IO if the destination has too little free space for all shards of the run. If
 * the caller creates the destination's directory, it calls this before, so that a refusal leaves no
 * directory. run_plan() checks the space again, but does not count the shards that it keeps. */
int run_check_space(const struct pack_run *run, struct sheaf_error *err);

/* Packs the shards of the run, and waits until all of them have their final names. Shards that an
 * earlier run has finished from the same files are kept.
 *
 * The samples of a shard are loaded from the plan when its first block is packed. They are freed
 * when its last block is written. Adds the numbers of packed and kept shards, samples and bytes to
 * *result, and the peak of memory. */
int run_plan(const struct pack_run *run, struct sheaf_pack_result *result, struct sheaf_error *err);

/* Returns the approximate size, before compression, of the largest of the shards `first` to `end` -
 * 1. */
uint64_t run_largest_shard(const struct plan *plan, size_t first, size_t end);

#endif
