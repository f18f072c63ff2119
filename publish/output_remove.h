/* SPDX-License-Identifier: MIT
 *
 * Removes an existing data set or an unfinished run; see output_remove.c. */
#ifndef PUBLISH_OUTPUT_REMOVE_H
#define PUBLISH_OUTPUT_REMOVE_H

#include "publish/output.h"
#include "store/store.h"

/* Writes or removes a file of DEST: looks, checks the claim, and acts on the file that was seen. */
int output_put_over(const struct output *output, const char *directory, const char *name,
                    const void *data, size_t size, struct sheaf_error *err);
/* Writes the bytes of a file. `content` is called once. Nobody sees the file until *writer is
 * committed. After a failure *writer is NULL. */
typedef int output_content_fn(void *context, struct store_writer *writer, struct sheaf_error *err);
int output_write(const char *url, output_content_fn *content, void *context,
                 struct store_writer **writer, struct sheaf_error *err);
/* Like output_put_over, for a file whose bytes `content` writes. */
int output_write_over(const struct output *output, const char *directory, const char *name,
                      output_content_fn *content, void *context, struct sheaf_error *err);
int output_remove(const struct output *output, const char *directory, const char *name,
                  struct sheaf_error *err);

/* Removes the data set with all its splits, and the leftovers of runs of other plans. With
 * `keep_own`, files of the run's own plan remain. */
int output_clear(const struct output *output, bool keep_own, struct sheaf_error *err);
/* Removes the files of unfinished runs that appended to the data set that grows, or edited it. With
 * `keep_own`, those of the run's own plan remain. Files in the manifest remain. */
int output_remove_appended(const struct output *output, bool keep_own, struct sheaf_error *err);
/* Removes the shards, indexes and tables of keys that edits of the data set have replaced. */
int output_purge(const struct output *output, const struct manifest *manifest,
                 struct sheaf_error *err);

#endif
