/* SPDX-License-Identifier: MIT
 *
 * A packed data set whose shards a run writes again in its directory: the checks before the run,
 * and the output for the shards. */
#ifndef COPY_IN_PLACE_H
#define COPY_IN_PLACE_H

#include "publish/output.h"
#include "reader/dataset/dataset.h"
#include "sheaf.h"

struct in_place {               /* zero-initialised */
    char *prefix, *index;       /* of the names of shards; list of other readers, or NULL */
    const char **shards;        /* names of the shards that are written; borrowed */
    size_t shard_count;
};

/* Finds the directory of a data set, which the caller may name by its manifest. The caller frees
 * *directory. */
int in_place_directory(const char *dataset, char **directory, struct sheaf_error *err);

/* Returns SHEAF_ERR_UNSUPPORTED for a view, and _NOT_FOUND if there is no manifest. `verb` says
 * what the caller wants to do: "edit". */
int in_place_check(const struct sheaf_dataset *dataset, const char *directory, const char *verb,
                   struct sheaf_error *err);
/* Returns SHEAF_ERR_UNSUPPORTED unless the packer of this release can make such shards. */
int in_place_check_packed(const struct sheaf_dataset *dataset, const char *directory,
                          struct sheaf_error *err);

/* Opens the output for `count` shards of the data set `m`. The caller then sets place->shards and
 * calls in_place_begin. Everything given is borrowed. */
int in_place_open(struct in_place *place, struct output *output, const char *directory,
                  const struct manifest *m, size_t count, const volatile int *interrupt,
                  struct sheaf_error *err);
/* Gives the output the shards' names and the hash that identifies the run. */
int in_place_begin(struct in_place *place, struct output *output, const char *hash,
                   struct sheaf_error *err);
void in_place_close(struct in_place *place);

#endif
