/* SPDX-License-Identifier: MIT
 *
 * Makes plans that store no samples. The plan of a conversion has one shard for each shard of an
 * existing data set. The plan of a column (a field that is added to a data set) has one shard for
 * one or more shards of this data set. */
#ifndef PACKER_PLAN_CONVERT_H
#define PACKER_PLAN_CONVERT_H

#include "packer/plan/plan_file.h"

/* Makes the plan for converting the data set at `source`, and stores it at `plan`. Returns
 * SHEAF_END if `source` is not a data set. `dest` must be absolute. */
int plan_convert(const char *source, const char *dest, const char *plan,
                 const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
                 struct sheaf_error *err);

/* Stores a plan without samples at `url`, and claims the plan's destination (puts a file there that
 * reserves it). `source` is NULL or a data set, which must not contain the destination. */
int plan_store(const struct plan_facts *facts, const struct sheaf_pack_options *options,
               const char *source, const char *url, struct sheaf_error *err);

/* Returns the absolute form of a path, which the caller frees. A URL is returned unchanged. */
char *plan_absolute(const char *url);

#endif
