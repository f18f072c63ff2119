/* SPDX-License-Identifier: MIT
 *
 * Packing in one call, onto a data set that is to grow. */
#ifndef PACKER_PACK_H
#define PACKER_PACK_H

#include "packer/grow.h"

/* sheaf_pack_sources, onto the data set in `dest` that has this manifest; `options` are complete
 * (pack_options_take), but a shard size of 0 stands for that of the data set.  With resume,
 * SHEAF_OK also if the data set has grown by these files already. */
int pack_onto(const char *const *sources, size_t count, const char *dest, const char *manifest,
              plan_known_fn *known, void *context, const struct sheaf_pack_options *options,
              struct sheaf_pack_result *result, struct sheaf_error *error);

/* Sets names to the other splits of the data that a data set is a split of, by its manifest. */
int pack_other_splits(const char *manifest, char names[SPLIT_LIMIT][SPLIT_NAME_BYTES],
                      size_t *count, struct sheaf_error *error);

#endif
