/* SPDX-License-Identifier: MIT
 *
 * Packing in one call, appended to a data set. */
#ifndef PACKER_PACK_H
#define PACKER_PACK_H

#include "packer/grow.h"

/* The data sets to which samples are appended. */
struct pack_onto {
    const char *dest;           /* the directory of the data set, or the one above all splits */
    /* the directory and the text of the manifest of each data set */
    const char *directories[SPLIT_LIMIT], *manifests[SPLIT_LIMIT];
    uint32_t count;             /* 1, or the number of splits in options->split */
    plan_known_fn *known;
    void *context;              /* of `known` */
};

/* Like sheaf_pack_sources, but appends to data sets. `options` must be complete (see
 * pack_options_take), but a shard size of 0 means the size of the existing shards. If there are
 * several data sets, they are the splits in options->split, in this order; the samples are divided
 * among them, and nothing is published before the shards of all of them are complete. With
 * `resume`, the call also returns SHEAF_OK if these files were already appended. */
int pack_onto(const char *const *sources, size_t count, const struct pack_onto *onto,
              const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
              struct sheaf_error *error);

/* Takes from the text of a manifest how the data was split: the definition `split`, which is parsed
 * into `spec`, and the name of the own split. If the data set is not a split, the texts may be
 * NULL, and spec->count is 0. The caller frees the texts, also after a failure. */
int pack_splits(const char *manifest, char **split, char **own, struct split_spec *spec,
                struct sheaf_error *error);

#endif
