/* SPDX-License-Identifier: MIT
 *
 * Finds out which samples the damaged shards must have, so that the planner plans just these.
 *
 * A table of keys (dataset.keys) tells the present number of each sample of the source, and the
 * number tells its shard and its place there. This holds for all shards, no matter whether packing,
 * an append or an edit wrote them, and whichever files the source has besides. The index tells the
 * labels that edits have changed, and how a shard is divided into codec blocks. */
#ifndef COPY_REPAIR_PLACE_H
#define COPY_REPAIR_PLACE_H

#include "copy/repair.h"
#include "packer/plan/plan_sort.h"

/* The damaged shards of one part of a data set. (The first packing made part 0, and each append
 * another part.) Zero-initialised. */
struct repair_places {
    const struct repair *repair;
    struct plan_places plan;    /* for the planner */
    struct plan_shard *shards;  /* `number` is the index of the shard in the manifest */
    struct plan_made *made;     /* of each shard */
    uint32_t *labels;           /* of all samples; or NULL */
    /* whether the samples could not be found, because a table of keys is missing or damaged */
    bool lacks_keys;
};

/* Collects the facts about the shards with damaged[i] set, from shard `first` up to, but not
 * including, `end`. Adds the labels that edits gave to their samples to `labels`, the catalog of
 * the planner. */
int repair_places_open(struct repair_places *places, const struct repair *repair,
                       const bool *damaged, size_t first, size_t end, struct catalog *labels,
                       struct sheaf_error *err);
void repair_places_close(struct repair_places *places);

/* Returns whether the numbers in the shard's records were read from its .lst file. If so, forgets
 * them; consecutive numbers are then used instead. */
bool repair_places_forget_numbers(struct repair_places *places, size_t at);

/* Returns whether an edit has written the shard. */
bool repair_is_edited(const struct manifest *manifest, size_t shard);

#endif
