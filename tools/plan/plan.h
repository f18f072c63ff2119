/* SPDX-License-Identifier: MIT
 *
 * Prints which shards each worker reads in an epoch, and how many samples of each shard. */
#ifndef TOOLS_PLAN_H
#define TOOLS_PLAN_H

#include "sheaf.h"

/* Prints, for each worker of each rank, a line and then the ranges of shards that the worker reads.
 * If `json` is set, prints the same as a JSON array. Returns an exit status. */
int plan_print(const struct sheaf_dataset *dataset, const struct sheaf_reader_options *options,
               int json);

#endif
