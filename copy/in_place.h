/* SPDX-License-Identifier: MIT
 *
 * Functions for runs that write some shards of an existing packed data set again, in the data set's
 * own directory: checks before the run, and the output of the run. */
#ifndef COPY_IN_PLACE_H
#define COPY_IN_PLACE_H

#include "publish/output.h"
#include "reader/dataset/dataset.h"
#include "sheaf.h"

struct in_place {               /* zero-initialised */
    /* the prefix of the shards' names, and the list of other readers for which there are index
     * files; each may be NULL */
    char *prefix, *index;
    const char **shards;        /* names of the shards that are written; borrowed */
    size_t shard_count;
};

/* Finds the directory of a data set. The caller may name the data set by its directory or by its
 * manifest. The caller of this function frees *directory. */
int in_place_directory(const char *dataset, char **directory, struct sheaf_error *err);

/* Returns SHEAF_ERR_UNSUPPORTED if the data set is a view, and _NOT_FOUND if it has no manifest.
 * `verb` names the caller's action in the message, such as "edit". */
int in_place_check(const struct sheaf_dataset *dataset, const char *directory, const char *verb,
                   struct sheaf_error *err);
/* Returns SHEAF_ERR_UNSUPPORTED unless the packer of this release can make shards of the same kind
 * as those of the data set. */
int in_place_check_packed(const struct sheaf_dataset *dataset, const char *directory,
                          struct sheaf_error *err);

/* Opens the output for `count` shards of the data set with the manifest `m`. The caller then sets
 * place->shards and calls in_place_begin. All arguments are borrowed. */
int in_place_open(struct in_place *place, struct output *output, const char *directory,
                  const struct manifest *m, size_t count, const volatile int *interrupt,
                  struct sheaf_error *err);
/* Sets the names of the shards in the output, and the hash that identifies the run. */
int in_place_begin(struct in_place *place, struct output *output, const char *hash,
                   struct sheaf_error *err);
void in_place_close(struct in_place *place);

#endif
