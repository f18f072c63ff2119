/* SPDX-License-Identifier: MIT
 *
 * Variables that the tests of scanning and planning fill: a catalog, its problems, and its plan. */
#ifndef TESTS_COMMON_PLAN_H
#define TESTS_COMMON_PLAN_H

#include "packer/plan/plan.h"
#include "packer/plan/plan_section.h"

extern struct catalog catalog;
extern struct problems problems;
extern struct plan plan;

/* Frees and empties all three. Bad files are then recorded and do not make the scan fail. */
void plan_start_again(void);

/* Makes `plan` from `catalog` as sheaf_pack does, with all its samples and files. */
int plan_catalog(const struct sheaf_pack_options *options, struct sheaf_error *err);

/* Adds all samples of `plan`, one shard after another. */
int plan_add_samples(struct plan_sections *sections, struct sheaf_error *err);

/* Returns whether `path` has a problem whose reason contains these words. */
bool has_problem(const char *path, const char *words);

#endif
