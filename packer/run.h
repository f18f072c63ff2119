/* SPDX-License-Identifier: MIT
 *
 * Packs some or all shards of a plan through the engine into an output.  It is the same for the
 * machine that has just made the plan and for those that share a stored one. */
#ifndef PACKER_RUN_H
#define PACKER_RUN_H

#include <stdbool.h>

#include "packer/engine.h"
#include "packer/plan/plan_section.h"

struct run {
    const struct sheaf_pack_options *options;   /* of these jobs and memory */
    const struct block_setup *setup;
    const struct output *output;
    struct problems *problems;
    struct watch *watch;
    struct plan_rows rows;
    size_t first, end;          /* its shards */
    bool resumes;               /* some of them may be there already */
};

/* SHEAF_ERR_LIMIT: one of the samples takes more memory than that, or a shard that is sent.  To be
 * known before anything is written or removed. */
int run_check_memory(const struct run *run, struct sheaf_error *err);

/* Packs the shards, but for those that are there already, of the same files, and waits until they
 * are in place.  The samples of a shard are loaded when its turn comes, and dropped when its last
 * block is written.  Of *result it sets what was packed and kept, and what memory that took. */
int run_plan(const struct run *run, struct sheaf_pack_result *result, struct sheaf_error *err);

/* As large as the largest of these shards becomes, about. */
uint64_t run_largest_shard(const struct plan *plan, size_t first, size_t end);

/* What is left of the memory for blocks.  SHEAF_ERR_LIMIT: there is no room even for what is sent
 * to `dest`. */
int run_memory_left(const struct block_setup *setup, const char *dest, uint64_t largest_shard,
                    uint64_t memory_bytes, uint64_t *left, struct sheaf_error *err);
/* SHEAF_ERR_LIMIT: a sample of `bytes` bytes in `files` files does not fit into the `left` bytes,
 * even alone in its block. */
int run_check_sample(const struct block_setup *setup, const char *key, size_t key_size,
                     uint64_t bytes, uint64_t files, uint64_t left, struct sheaf_error *err);

#endif
