/* SPDX-License-Identifier: MIT
 *
 * A model of the planner: the plan of a catalog, made in memory with three calls of qsort and
 * nothing that a large source would need.  The tests compare plans with it. */
#ifndef TESTS_COMMON_MODEL_PLAN_H
#define TESTS_COMMON_MODEL_PLAN_H

#include "packer/plan/plan.h"

/* Makes the plan of a catalog, whose files it sorts and whose memory it points to.  Files that
 * make no sample go to `problems`. */
int model_plan(struct catalog *catalog, const struct sheaf_pack_options *options,
               struct problems *problems, struct plan *plan, struct sheaf_error *err);

#endif
