/* SPDX-License-Identifier: MIT
 *
 * Packing in one call, appended to a data set. */
#ifndef PACKER_PACK_H
#define PACKER_PACK_H

#include "packer/grow.h"

/* Appends samples to the data set in `dest`, whose manifest is given. The arguments are otherwise
 * those of sheaf_pack_sources. `options` must be complete (see pack_options_take), but a shard size
 * of 0 means the size of the existing shards. With `resume`, the call also returns SHEAF_OK if
 * these files were already appended. */
int pack_onto(const char *const *sources, size_t count, const char *dest, const char *manifest,
              plan_known_fn *known, void *context, const struct sheaf_pack_options *options,
              struct sheaf_pack_result *result, struct sheaf_error *error);

/* Sets `names` to the names of the other splits of the same data. The manifest of each split lists
 * them. */
int pack_other_splits(const char *manifest, char names[SPLIT_LIMIT][SPLIT_NAME_BYTES],
                      size_t *count, struct sheaf_error *error);

#endif
