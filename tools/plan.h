/* SPDX-License-Identifier: MIT
 *
 * Prints the plan of an epoch: how many samples of which shards each worker reads. */
#ifndef TOOLS_PLAN_H
#define TOOLS_PLAN_H

#include "sheaf.h"

/* A line for each worker of each rank, with its stretches below it; or, as JSON, an array.  The
 * exit status. */
int plan_print(const struct sheaf_dataset *dataset, const struct sheaf_reader_options *options,
               int json);

#endif
