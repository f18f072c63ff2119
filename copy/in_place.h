/* SPDX-License-Identifier: MIT
 *
 * Functions for edit and repair, which replace some shards of a packed data set in the directory of
 * this data set. The functions check the data set, and open its directory for writing. */
#ifndef COPY_IN_PLACE_H
#define COPY_IN_PLACE_H

#include "publish/output.h"
#include "reader/dataset/dataset.h"
#include "sheaf.h"

struct in_place {               /* zero-initialised */
    char *prefix,               /* beginning of the names of the data set's shards */
        /* names of the other programs (such as "dali") for which the data set has index files,
         * separated by commas; NULL if the data set has only its own index files */
        *index;
    const char **shards;        /* names of the shards that are written; borrowed */
    size_t shard_count;
};

/* Sets *directory to the directory of a data set. `dataset` is the path of the directory or of the
 * manifest. The caller frees *directory. */
int in_place_directory(const char *dataset, char **directory, struct sheaf_error *err);

/* Checks that a data set can be changed in its directory. Returns SHEAF_ERR_UNSUPPORTED if the data
 * set is a view, and SHEAF_ERR_NOT_FOUND if the data set has no manifest. `verb` is the word for
 * the change in error messages, such as "edit". */
int in_place_check(const struct sheaf_dataset *dataset, const char *directory, const char *verb,
                   struct sheaf_error *err);
/* Returns SHEAF_ERR_UNSUPPORTED if the packer of this release cannot make shards of the same kind
 * as the data set has. For example, an older release may have compressed the shards differently. */
int in_place_check_packed(const struct sheaf_dataset *dataset, const char *directory,
                          struct sheaf_error *err);

/* Opens the data set's directory, to write `count` of its shards again. `m` is the data set's
 * manifest. After this call, the caller must store the names of these shards in place->shards[0] to
 * place->shards[count - 1], and then call in_place_begin. All arguments are borrowed. */
int in_place_open(struct in_place *place, struct output *output, const char *directory,
                  const struct manifest *m, size_t count, const volatile int *interrupt,
                  struct sheaf_error *err);
/* Begins the run: gives the output the names of the shards that will be written, and the hash that
 * identifies the run. */
int in_place_begin(struct in_place *place, struct output *output, const char *hash,
                   struct sheaf_error *err);
void in_place_close(struct in_place *place);

#endif
