/* SPDX-License-Identifier: MIT
 *
 * What is in a place already, and taking it away: see output_remove.c. */
#ifndef PACKER_OUTPUT_REMOVE_H
#define PACKER_OUTPUT_REMOVE_H

#include "formats/manifest.h"
#include "packer/output.h"

/* What is under a manifest's name. */
struct manifest_look {
    struct store_seen seen;
    bool is_dataset;            /* it is there, and not what a run at work has put there */
    char run[RUN_SIZE];         /* of that run; else "" */
};
int output_look_manifest(const char *directory, struct manifest_look *look,
                         struct sheaf_error *err);
/* Reads the note of what is being replaced there.  SHEAF_ERR_NOT_FOUND. */
int output_read_replaced(const char *directory, struct manifest *manifest,
                         struct sheaf_error *err);
/* A string among the options that a manifest keeps, in memory of its own; NULL: there is none. */
int output_option(const struct manifest *m, const char *name, char **value,
                  struct sheaf_error *err);
/* Whether a manifest is of the data set that the run's own plan describes. */
int output_is_of_plan(const struct output *output, const struct manifest *m, bool *is,
                      struct sheaf_error *err);

/* Writes or removes a file of DEST: looks, checks the claim, and acts on what was there. */
int output_put_over(const struct output *output, const char *directory, const char *name,
                    const void *data, size_t size, struct sheaf_error *err);
int output_remove(const struct output *output, const char *directory, const char *name,
                  struct sheaf_error *err);

/* Called with the directories in DEST. */
typedef int output_below_fn(void *context, char *directory, const char *name,
                            struct sheaf_error *err);
int output_for_each_below(const char *dest, output_below_fn *each, void *context,
                          struct sheaf_error *err);
/* Whether it holds a data set that is the split of this name of the one in the directory above. */
int output_is_split(const char *directory, const char *name, bool *is, struct sheaf_error *err);

/* Takes away the data set that is there, with all its splits, and what runs of other plans have
 * left; with `keep_own`, not what is of the run's own plan. */
int output_clear_place(const struct output *output, bool keep_own, struct sheaf_error *err);

#endif
