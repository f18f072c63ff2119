/* SPDX-License-Identifier: MIT
 *
 * Plans of conversions: they have one shard for each shard of an existing data set. */
#ifndef PACKER_PLAN_CONVERT_H
#define PACKER_PLAN_CONVERT_H

#include "sheaf.h"

/* Makes and stores the plan for converting the data set at `source`. Returns SHEAF_END if `source`
 * is not a data set. `dest` must be absolute. */
int plan_convert(const char *source, const char *dest, const char *plan,
                 const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
                 struct sheaf_error *err);

/* Returns the absolute path for a path, in memory that the caller frees. URLs are copied
 * unchanged. */
char *plan_absolute(const char *url);

#endif
