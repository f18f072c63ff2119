/* SPDX-License-Identifier: MIT
 *
 * Stores plans. Two kinds of plans store no samples:
 *
 * - In the plan of a conversion, each shard stands for one shard of an existing data set.
 * - In the plan of a column (a field that is added to a data set), each shard stands for one or
 *   more shards of this data set. */
#ifndef PACKER_PLAN_STORE_H
#define PACKER_PLAN_STORE_H

#include "packer/plan/plan_file.h"

/* Returns an error if `url` is the destination `dest`, an absolute path or a URL. Also returns an
 * error if there is already a plan at `url` for another destination, because parts of that plan may
 * be running. A plan for the same destination may be replaced. */
int plan_store_refuse_replacing(const char *url, const char *dest, struct sheaf_error *err);

struct planner;
/* Stores a plan at `url`, and claims the plan's destination (puts a file there that reserves it).
 * With options->dry_run, does not change the destination. `planner` has made the plan, or is NULL
 * if the plan stores no samples. `source` is NULL or a data set, which must not contain the
 * destination. */
int plan_store(const struct plan_facts *facts, const struct planner *planner,
               const struct sheaf_pack_options *options, const char *source, const char *url,
               struct sheaf_error *err);

/* Returns the absolute form of a path, which the caller frees. A URL is returned unchanged. */
char *plan_absolute(const char *url);

#endif
