/* SPDX-License-Identifier: MIT
 *
 * Removes an existing data set, or the files of an unfinished run. See output_remove.c. */
#ifndef PUBLISH_OUTPUT_REMOVE_H
#define PUBLISH_OUTPUT_REMOVE_H

#include "publish/output.h"
#include "store/store.h"

/* The type of a function that looks at the file `seen` at `url`, and returns an error if the file
 * must stay there, for example strays_check_table. */
typedef int output_stays_fn(const char *url, const struct store_seen *seen,
                            struct sheaf_error *err);
/* Writes a file of the destination: looks at the existing file, checks the claim, and then writes
 * only if the file has not changed. The claim is the file that says which run packs here. If
 * `stays` is not NULL, it is called for the existing file, and nothing is written if it returns an
 * error. */
int output_put_over(const struct output *output, const char *directory, const char *name,
                    const void *data, size_t size, output_stays_fn *stays,
                    struct sheaf_error *err);
/* The type of a function that writes the content of a new file to `writer`. */
typedef int output_content_fn(void *context, struct store_writer *writer, struct sheaf_error *err);
/* Creates the file `url`, and calls `content` once to write its content. *writer is the open file,
 * or NULL on failure. Readers do not see the file until the caller has committed *writer. */
int output_write(const char *url, output_content_fn *content, void *context,
                 struct store_writer **writer, struct sheaf_error *err);
/* Like output_put_over, for a file whose bytes `content` writes. */
int output_write_over(const struct output *output, const char *directory, const char *name,
                      output_content_fn *content, void *context, output_stays_fn *stays,
                      struct sheaf_error *err);
int output_remove(const struct output *output, const char *directory, const char *name,
                  struct sheaf_error *err);

/* Removes the index and the table of keys that a failed run has written for a new data set in
 * `directory`. Files of other programs stay. */
int output_remove_tables(const struct output *output, const char *directory,
                         struct sheaf_error *err);
/* Removes the data set with all its splits, and the remains of runs of other plans. If keep_own is
 * true, files of this run's own plan stay. */
int output_clear(const struct output *output, bool keep_own, struct sheaf_error *err);
/* Removes files that unfinished appends and edits of the data set have written. Files that the
 * manifest names always stay. If keep_own is true, files of this run's own plan stay as well. */
int output_remove_appended(const struct output *output, bool keep_own, struct sheaf_error *err);
/* Removes the shards, index files and tables of keys that edits of the data set have replaced by
 * others. */
int output_purge(const struct output *output, const struct manifest *manifest,
                 struct sheaf_error *err);

#endif
