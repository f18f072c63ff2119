/* SPDX-License-Identifier: MIT
 *
 * Finds out which samples the damaged shards must have, so that the planner plans only these
 * samples.
 *
 * A table of keys (dataset.keys) maps the key of each sample to the sample's number in the data
 * set. This number determines the sample's shard and its place in the shard. This also works for
 * shards that an append or an edit wrote, and if the source has further files now.
 *
 * The index of the data set has two further facts about each shard: the labels that edits have
 * changed, and the sizes of the codec blocks (parts that can be decompressed alone). */
#ifndef COPY_REPAIR_PLACE_H
#define COPY_REPAIR_PLACE_H

#include "copy/repair.h"
#include "packer/plan/plan_sort.h"

/* The damaged shards of one part of a data set. (The first packing made part 0, and each append
 * another part.) Zero-initialised. */
struct repair_places {
    const struct repair *repair;
    struct plan_places plan;    /* for the planner */
    /* the damaged shards, in order; the member `number` is the index of the shard in the
     * manifest */
    struct plan_shard *shards;
    struct plan_made *made;     /* of each shard */
    uint32_t *labels;           /* of all samples; or NULL */
    /* true if the samples could not be found by their keys, because a table of keys is missing or
     * damaged */
    bool lacks_keys;
};

/* Collects the facts about the damaged shards from shard `first` up to, but not including, `end`.
 * Shard i is damaged if damaged[i] is set. Edits may have given labels to samples of these shards.
 * These labels are added to `labels`, the catalog of the planner. */
int repair_places_open(struct repair_places *places, const struct repair *repair,
                       const bool *damaged, size_t first, size_t end, struct catalog *labels,
                       struct sheaf_error *err);
void repair_places_close(struct repair_places *places);

/* Drops the record numbers that were read from the .lst file of the damaged shard number `at`, so
 * that consecutive numbers are used instead. Returns false if no numbers were read from this
 * file. */
bool repair_places_forget_numbers(struct repair_places *places, size_t at);

/* Returns whether an edit has written the shard. */
bool repair_is_edited(const struct manifest *manifest, size_t shard);

#endif
