/* SPDX-License-Identifier: MIT
 *
 * The plan of an epoch, printed: who reads how many samples of which shards. */
#ifndef TOOLS_PLAN_H
#define TOOLS_PLAN_H

#include "sheaf.h"

/* A line for each worker of each rank, with its stretches below it; or, as JSON, an array.  The
 * exit status. */
int plan_print(const struct sheaf_dataset *dataset, const struct sheaf_reader_options *options,
               int json);

#endif
