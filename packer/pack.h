/* SPDX-License-Identifier: MIT
 *
 * Packing in one call, appended to a data set. */
#ifndef PACKER_PACK_H
#define PACKER_PACK_H

#include "packer/grow.h"

/* The data sets to which samples are appended. */
struct pack_onto {
    /* directory of the data set, or the parent of all splits */
    const char *dest;
    /* for each data set, its directory and the text of its manifest */
    const char *directories[SPLIT_LIMIT], *manifests[SPLIT_LIMIT];
    uint32_t count;             /* 1, or the number of splits in options->split */
    plan_known_fn *known;
    void *context;              /* of `known` */
};

/* Does what sheaf_pack_sources() does, but appends to existing data sets. `options` must be
 * complete (see pack_options_take). As an exception, the size of a shard may be 0, which means the
 * size of the existing shards.
 *
 * If there are several data sets, they must be the splits in options->split, in this order. The
 * samples are divided among the splits. Nothing is published before the shards of all splits are
 * complete.
 *
 * If `resume` is set and an earlier call has already appended the same samples, returns SHEAF_OK.
 * If `resume` is not set, earlier calls are not considered. */
int pack_onto(const char *const *sources, size_t count, const struct pack_onto *onto,
              const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
              struct sheaf_error *error);

/* Makes the plan that sheaf_pack_sources() would pack, and stores it at `url`. `options` must be
 * complete, but check_images may be SHEAF_CHECK_USUAL. `dest` must be absolute. Sets *result even
 * after a failure. */
int pack_store_plan(const char *const *sources, size_t count, const char *dest, const char *url,
                    const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
                    struct sheaf_error *error);

/* Reads from a manifest how the data was split. Sets *split to the definition of all splits, such
 * as "train=0.8,val=0.2", and *spec to its parsed form. Sets *own to the name of this data set's
 * own split, such as "train". If the data set is not a split, spec->count is 0, and *split and *own
 * may be NULL. The caller frees these two texts even after a failure. */
int pack_splits(const char *manifest, char **split, char **own, struct split_spec *spec,
                struct sheaf_error *error);

#endif
