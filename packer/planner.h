/* SPDX-License-Identifier: MIT
 *
 * Makes a plan: scans the sources, sorts the files, cuts shards, and writes each shard's samples to
 * a plan file for many machines (plan_make.c) or to a stash for this one (pack.c).  The samples are
 * never all in memory: plan_sort.h makes streams of them. */
#ifndef PACKER_PLANNER_H
#define PACKER_PLANNER_H

#include "packer/block.h"
#include "packer/class_list.h"
#include "packer/plan/plan_section.h"
#include "packer/plan/plan_sort.h"
#include "packer/source/source.h"

struct planner {
    const struct sheaf_pack_options *options;
    struct problems *problems;
    struct watch *watch;
    struct plan *plan;          /* what is made; its texts are the planner's */
    const char *name;           /* the first source, for messages */
    struct source *sources;     /* with one root */
    size_t source_count;
    struct plan_sort sort;
    struct class_list list;     /* that the options name */
    struct filter filter;
    struct naming naming;
    bool has_directories;       /* some class is a directory */
    uint64_t files, passed_over, left_out, filtered;    /* as in struct scan */
    uint64_t files_packed;
    const struct block_setup *setup;    /* NULL; or samples are refused that could not be packed
                                           with so much memory */
    uint64_t memory_left;
    struct tally *fields;       /* of each split's samples, to be counted; NULL: they are not */
};

/* All that it is given is borrowed; *plan is empty.  `near`: what temporary files may be beside, if
 * it is local; or NULL. */
int planner_open(struct planner *planner, const struct sheaf_pack_options *options,
                 struct problems *problems, struct watch *watch, struct plan *plan,
                 const char *near, struct sheaf_error *err);
void planner_close(struct planner *planner);

/* Opens the sources, finds their files and plans.  An interrupt ends that.  `dest`: as for
 * planner_refuse, or NULL where nothing is written. */
int planner_make(struct planner *planner, const char *const *urls, size_t count, const char *dest,
                 struct sheaf_error *err);
/* Refuses a destination in one of the sources. */
int planner_refuse(const struct planner *planner, const char *dest, struct sheaf_error *err);
/* Of the files that were found: finds the samples, and the cuts between shards.
 * SHEAF_ERR_NOT_FOUND: there is nothing to be packed. */
int planner_plan(struct planner *planner, struct sheaf_error *err);
/* Writes the samples, shard by shard; then the plan has its payload, sources and hash. */
int planner_write(struct planner *planner, struct plan_sections *out, struct sheaf_error *err);

/* Tells of each class, as options->class_count wants. */
void planner_count_classes(const struct planner *planner);

/* Then: gives the plan its identity, as plan_identify has it, */
int planner_identify(const struct planner *planner, bool of_sources, struct sheaf_error *err);
/* and says the options of each split's manifest, to be freed in any case. */
int planner_options_json(const struct planner *planner, char *json[SPLIT_LIMIT],
                         struct sheaf_error *err);

/* Sets what was found, skipped and taken, whatever has become of it. */
void planner_result(const struct planner *planner, struct sheaf_pack_result *result);

#endif
