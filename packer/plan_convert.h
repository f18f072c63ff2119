/* SPDX-License-Identifier: MIT
 *
 * Plans without sections. The plan of a conversion has one shard for each shard of an existing data
 * set. The plan of a column has a shard for one or more shards of its base. */
#ifndef PACKER_PLAN_CONVERT_H
#define PACKER_PLAN_CONVERT_H

#include "packer/plan/plan_file.h"

/* Makes and stores the plan for converting the data set at `source`. Returns SHEAF_END if `source`
 * is not a data set. `dest` must be absolute. */
int plan_convert(const char *source, const char *dest, const char *plan,
                 const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
                 struct sheaf_error *err);

/* Stores a plan without sections at `url`, and claims the plan's destination. `source` is a data
 * set that must not contain the destination, or NULL. */
int plan_store(const struct plan_facts *facts, const struct sheaf_pack_options *options,
               const char *source, const char *url, struct sheaf_error *err);

/* Returns the absolute path for a path, in memory that the caller frees. URLs are copied
 * unchanged. */
char *plan_absolute(const char *url);

#endif
