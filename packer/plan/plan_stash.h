/* SPDX-License-Identifier: MIT
 *
 * The samples of a plan that are put away until it is their shard's turn: as they are, they take
 * some 100 bytes each, and of a large source more memory than all buffers. */
#ifndef PACKER_PLAN_PLAN_STASH_H
#define PACKER_PLAN_PLAN_STASH_H

#include "packer/plan/plan_batch.h"

struct stashed {
    uint8_t *blocks;
    size_t size;
    uint64_t files;
};

/* Zero-initialised. */
struct plan_stash {
    const struct plan *plan;
    struct stashed *shards;     /* one for each of the plan's */
};

/* Takes the samples and the files out of the plan and of its catalog. */
int plan_stash_make(struct plan_stash *stash, struct plan *plan, struct catalog *catalog,
                    struct sheaf_error *err);
/* The plan of one shard, into an empty batch. */
int plan_stash_take(const struct plan_stash *stash, size_t shard, struct plan_batch *batch,
                    struct sheaf_error *err);
void plan_stash_free(struct plan_stash *stash);

#endif
