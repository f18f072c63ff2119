/* SPDX-License-Identifier: MIT
 *
 * Makes a plan: scans the sources, sorts the files into samples, and divides the samples into
 * shards. The samples of each shard are written to a section (plan_section.h). This process packs
 * them from there, or copies them to a plan file for many machines. The samples are never all in
 * memory, because plan_sort.h makes streams of them. */
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
    /* the plan that is being made; the planner owns the texts to which it points */
    struct plan *plan;
    const char *name;           /* the first source, for messages */
    struct source *sources;     /* with one root */
    size_t source_count;
    struct plan_sort sort;
    struct class_list list;     /* classes that the options name */
    struct filter filter;
    struct naming naming;
    bool has_directories;       /* whether a class is a directory */
    /* path or URL of the stored plan, which must not lie in a source; NULL if no plan is stored */
    const char *url;
    /* true if empty JPEGs are found while the plan is made, not only when they are packed */
    bool finds_empty;
    /* true if files .cls that do not consist of numbers are counted and reported */
    bool tells_cls;
    uint64_t files, passed_over, left_out, filtered;    /* as in struct scan */
    uint64_t files_packed;
    /* counts of the fields of each split's samples; NULL if fields are not counted */
    struct tally *fields;
    struct plan_sections sections;      /* the samples of the plan */
    /* options for the manifest of each split, as JSON text; the planner owns the texts */
    char *options_json[SPLIT_LIMIT];
};

/* Initialises a planner. `list` has the classes whose numbers the user has given, or is NULL. The
 * planner takes these classes, so that *list is empty afterwards. The other arguments must stay
 * valid, and *plan must be empty. Temporary files are created in the directory of the local path
 * `near`, or in a default directory if `near` is NULL or not local. */
int planner_open(struct planner *planner, const struct sheaf_pack_options *options,
                 struct class_list *list, struct problems *problems, struct watch *watch,
                 struct plan *plan, const char *near, struct sheaf_error *err);
void planner_close(struct planner *planner);

/* Opens the sources, finds their files and makes the plan. The caller's interrupt flag can end this
 * call. `dest` is the destination, which must not lie in a source, or NULL if nothing will be
 * written. */
int planner_make(struct planner *planner, const char *const *urls, size_t count, const char *dest,
                 struct sheaf_error *err);
/* Returns an error if the destination `dest` lies inside one of the sources. Otherwise the files of
 * the data set would become source files of the next run. */
int planner_refuse(const struct planner *planner, const char *dest, struct sheaf_error *err);
/* Groups the files that were found into samples, divides the samples into shards, and writes the
 * samples of each shard to its section. Afterwards each shard of the plan has its payload size and
 * the hash of its source files, and the plan has its plan hash. Returns SHEAF_ERR_NOT_FOUND if
 * there is nothing to pack. */
int planner_plan(struct planner *planner, struct sheaf_error *err);
/* Returns a struct with which plan_rows_load() reads the samples of the plan. */
struct plan_rows planner_rows(const struct planner *planner);
/* Fills in the settings of blocks (the packer's jobs) as far as the plan determines these
 * settings. */
void planner_setup(const struct planner *planner, struct block_setup *setup);

/* Calls options->class_count for each class. */
void planner_count_classes(const struct planner *planner);

/* Gives the plan its identity (plan_identify). Called after planner_make. */
int planner_identify(const struct planner *planner, bool of_sources, struct sheaf_error *err);
/* Makes planner->options_json. */
int planner_options_json(struct planner *planner, struct sheaf_error *err);

/* Sets three numbers in *result: how many files were found, skipped and planned. May also be called
 * after the planner has failed. */
void planner_result(const struct planner *planner, struct sheaf_pack_result *result);

#endif
