/* SPDX-License-Identifier: MIT
 *
 * Prints the plan of an epoch: how many samples of each shard each worker reads. */
#ifndef TOOLS_PLAN_H
#define TOOLS_PLAN_H

#include "sheaf.h"

/* Prints a line for each worker of each rank, followed by the ranges of shards that it reads; or
 * prints a JSON array. Returns the exit status. */
int plan_print(const struct sheaf_dataset *dataset, const struct sheaf_reader_options *options,
               int json);

#endif
