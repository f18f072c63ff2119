/* SPDX-License-Identifier: MIT
 *
 * A model of the planner. It makes the plan of a catalog in memory with three calls of qsort, and
 * without the methods that a large source needs. The tests compare plans with those of the
 * model. */
#ifndef TESTS_COMMON_MODEL_PLAN_H
#define TESTS_COMMON_MODEL_PLAN_H

#include "packer/plan/plan.h"

/* Makes the plan of a catalog. Sorts the catalog's files, and points into the catalog's memory.
 * Files that form no sample are added to `problems`. */
int model_plan(struct catalog *catalog, const struct sheaf_pack_options *options,
               struct problems *problems, struct plan *plan, struct sheaf_error *err);

#endif
