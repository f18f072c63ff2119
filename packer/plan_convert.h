/* SPDX-License-Identifier: MIT
 *
 * Plans of conversions: one shard for each shard of an existing data set. */
#ifndef PACKER_PLAN_CONVERT_H
#define PACKER_PLAN_CONVERT_H

#include "sheaf.h"

/* Stores the plan of converting the data set at `source` if there is one; SHEAF_END if there is
 * none.  `dest` is absolute. */
int plan_convert(const char *source, const char *dest, const char *plan,
                 const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
                 struct sheaf_error *err);

/* A path that means the same wherever a process was started, in memory of its own; URLs are as
 * they are. */
char *plan_absolute(const char *url);

#endif
