/* SPDX-License-Identifier: MIT
 *
 * Plans of conversions: one shard for each shard of an existing data set. */
#ifndef PACKER_PLAN_CONVERT_H
#define PACKER_PLAN_CONVERT_H

#include "sheaf.h"

/* Stores the plan for converting the data set at `source`. Returns SHEAF_END if there is no data
 * set. `dest` is absolute. */
int plan_convert(const char *source, const char *dest, const char *plan,
                 const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
                 struct sheaf_error *err);

/* Returns a path that does not depend on the working directory, in memory that the caller frees.
 * URLs are copied. */
char *plan_absolute(const char *url);

#endif
