/* SPDX-License-Identifier: MIT
 *
 * Finds the shards of a plan that earlier processes have finished. Used to resume a run, to commit
 * a stored plan, and to show its progress. */
#ifndef PACKER_FINISHED_H
#define PACKER_FINISHED_H

#include "packer/plan/plan.h"
#include "packer/source/problems.h"
#include "publish/output.h"

/* Shards of a plan at their destination. */
struct finished {
    const struct output *output;
    const struct plan *plan;
    size_t first, end;          /* the shards */
    /* true if the shards can also be found without a listing of the destination, because the store
     * may refuse to list it */
    bool may_lack_listing;
    /* Names at the destination. Set while finished_each() runs; NULL if the store refuses to list
     * them. */
    struct output_listing *listing;
};

/* A function that receives a shard's journal entry (the stored facts about a finished shard).
 * `entry` is NULL if the shard is not finished. An entry alone does not prove that the shard is
 * still as it was written. */
typedef int finished_fn(void *context, const struct finished *finished, size_t shard,
                        const struct journal_entry *entry, struct sheaf_error *err);

/* Lists the destination, and calls take(context) for each of the shards, in order. Makes no request
 * for the entry of a shard if the listing lacks the shard or its entry. */
int finished_each(struct finished *finished, finished_fn *take, void *context,
                  struct sheaf_error *err);

/* Counts a finished shard in *result, and adds its lists of skipped and converted files to
 * `problems` and problems->converted. */
int finished_take(const struct journal_entry *entry, struct problems *problems,
                  struct sheaf_pack_result *result, struct sheaf_error *err);

#endif
