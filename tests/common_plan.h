/* SPDX-License-Identifier: MIT
 *
 * What the tests of scanning and planning fill: a catalog, the problems, the plan of them. */
#ifndef TESTS_COMMON_PLAN_H
#define TESTS_COMMON_PLAN_H

#include "packer/plan/plan.h"
#include "packer/plan/plan_section.h"

extern struct catalog catalog;
extern struct problems problems;
extern struct plan plan;

/* Frees and empties all three; bad files are noted, and no failure. */
void plan_start_again(void);

/* Makes `plan`, with all its samples and files, of `catalog`, as sheaf_pack would. */
int plan_catalog(const struct sheaf_pack_options *options, struct sheaf_error *err);

/* Adds all samples of `plan`, shard after shard. */
int plan_add_samples(struct plan_sections *sections, struct sheaf_error *err);

/* Whether `path` has a problem whose reason holds these words. */
bool has_problem(const char *path, const char *words);

#endif
