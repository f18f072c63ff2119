/* SPDX-License-Identifier: MIT
 *
 * Packs some or all shards of a plan through the engine into an output. The machine that made the
 * plan and machines that share a stored plan use the same code. */
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

/* Returns SHEAF_ERR_LIMIT if a sample, or a shard that is sent, needs more than the memory. Called
 * before anything is written or removed. */
int run_check_memory(const struct pack_run *run, struct sheaf_error *err);

/* Packs the shards, except finished shards of the same files, and waits until they are in place.
 * The samples of a shard are loaded when its turn comes, and freed when its last block is
 * written. Sets in *result the numbers of packed and kept shards, samples and bytes, and the
 * peak of memory. */
int run_plan(const struct pack_run *run, struct sheaf_pack_result *result, struct sheaf_error *err);

/* Returns the approximate size of the largest of these shards. */
uint64_t run_largest_shard(const struct plan *plan, size_t first, size_t end);

/* Returns in *left the memory that is left for blocks. Returns SHEAF_ERR_LIMIT if there is not even
 * room for data that are sent to `dest`. */
int run_memory_left(const struct block_setup *setup, const char *dest, uint64_t largest_shard,
                    uint64_t memory_bytes, uint64_t *left, struct sheaf_error *err);
/* Returns SHEAF_ERR_LIMIT if a sample of `bytes` bytes in `files` files does not fit into `left`
 * bytes, even alone in a block. */
int run_check_sample(const struct block_setup *setup, const char *key, size_t key_size,
                     uint64_t bytes, uint64_t files, uint64_t left, struct sheaf_error *err);

#endif
