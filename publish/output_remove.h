/* SPDX-License-Identifier: MIT
 *
 * Removes an existing data set or an unfinished run; see output_remove.c. */
#ifndef PUBLISH_OUTPUT_REMOVE_H
#define PUBLISH_OUTPUT_REMOVE_H

#include "publish/output.h"
#include "store/store.h"

/* Writes or removes a file of DEST: looks, checks the claim, and acts on what was there. */
int output_put_over(const struct output *output, const char *directory, const char *name,
                    const void *data, size_t size, struct sheaf_error *err);
/* The same of what `content` writes, which is called once. */
int output_write_over(const struct output *output, const char *directory, const char *name,
                      int (*content)(void *context, struct store_writer *writer,
                                     struct sheaf_error *err),
                      void *context, struct sheaf_error *err);
int output_remove(const struct output *output, const char *directory, const char *name,
                  struct sheaf_error *err);

/* Takes away the data set that is there, with all its splits, and what runs of other plans have
 * left; with `keep_own`, not what is of the run's own plan. */
int output_clear(const struct output *output, bool keep_own, struct sheaf_error *err);
/* Takes away what unfinished runs have appended to the data set that is to grow; with `keep_own`,
 * not what is of the run's own plan.  What the manifest names stays. */
int output_remove_appended(const struct output *output, bool keep_own, struct sheaf_error *err);

#endif
