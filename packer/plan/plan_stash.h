/* SPDX-License-Identifier: MIT
 *
 * Keeps the samples of a plan until their shard is packed, if the plan is packed at once by the
 * process that made it. The samples are in memory, or in a temporary file if they take too much
 * memory. */
#ifndef PACKER_PLAN_PLAN_STASH_H
#define PACKER_PLAN_PLAN_STASH_H

#include "base/tempfile.h"
#include "packer/plan/plan_section.h"

struct plan_stash {
    struct tempfile blocks;             /* fd is -1 before it is opened */
    struct plan_sections sections;      /* the sections to which the shards are written */
    const struct plan *plan;
};

/* Opens a stash, which keeps the samples of a plan. If the samples take more than `memory_bytes`
 * bytes, they go to a file in `directory`. */
int plan_stash_open(struct plan_stash *stash, const char *directory, size_t memory_bytes,
                    struct sheaf_error *err);
/* Ends writing to the stash, so that its samples can be read. The shards of `plan` must be the
 * shards whose samples were written, in the same order. */
int plan_stash_end(struct plan_stash *stash, const struct plan *plan, struct sheaf_error *err);
struct plan_rows plan_stash_rows(const struct plan_stash *stash);
void plan_stash_close(struct plan_stash *stash);

#endif
