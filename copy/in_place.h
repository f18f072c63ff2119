/* SPDX-License-Identifier: MIT
 *
 * Functions for runs that replace some shards of an existing packed data set, in the data set's own
 * directory. They check the data set before the run, and open the run's output. */
#ifndef COPY_IN_PLACE_H
#define COPY_IN_PLACE_H

#include "publish/output.h"
#include "reader/dataset/dataset.h"
#include "sheaf.h"

struct in_place {               /* zero-initialised */
    char *prefix,               /* beginning of the names of the data set's shards */
        /* names of the foreign programs (such as "dali") for which the data set has index files,
         * separated by commas; NULL if it has none */
        *index;
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

/* Opens the data set's directory for writing `count` of its shards again. `m` is the data set's
 * manifest. The caller then sets place->shards[0] to [count - 1] to the names of these shards, and
 * calls in_place_begin. All arguments are borrowed. */
int in_place_open(struct in_place *place, struct output *output, const char *directory,
                  const struct manifest *m, size_t count, const volatile int *interrupt,
                  struct sheaf_error *err);
/* Sets the names of the shards in the output, and the hash that identifies the run. */
int in_place_begin(struct in_place *place, struct output *output, const char *hash,
                   struct sheaf_error *err);
void in_place_close(struct in_place *place);

#endif
