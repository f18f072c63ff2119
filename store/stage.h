/* SPDX-License-Identifier: MIT
 *
 * Stages protect a directory DIR that a run (a process that writes a data set) has taken over from
 * an earlier run. The earlier run can then no longer change DIR, even by a system call that it has
 * already begun.
 *
 * A stage is a directory in DIR/.sheaf-partial. Its name is the number of a run. To give a file its
 * final name in DIR, the run first renames the temporary file into its stage, and then renames it
 * again. A file that the run removes is first renamed into the stage as well.
 *
 * A later run takes DIR over by renaming the stage of the earlier run. If several runs try this,
 * only one can succeed. All renames of the earlier run then fail, because its stage no longer
 * exists. This method needs no locks and no clocks.
 *
 * A store without stages must compare and write in one step instead (store/over.h). */
#ifndef STORE_STAGE_H
#define STORE_STAGE_H

#include "store/store.h"

#define STAGE_SUFFIX ".stage"

/* Makes the stage of a new run in `partial`, the directory .sheaf-partial. *stage becomes the path
 * of the stage, which the caller must free, or NULL if the store has no stages. */
int stage_make(const char *partial, const char *run, char **stage, struct sheaf_error *err);
/* Takes over the stage of the run `from` for the run `run`. A stage is a directory through which a
 * run publishes its files. The stage is renamed, and all files in it are removed. If another run
 * has already taken over the stage of `from`, takes over the stage of that other run. If `partial`
 * has no stage, makes a new stage. *stage becomes the path of the stage of `run`, or NULL if the
 * store has no stages. */
int stage_take(const char *partial, const char *from, const char *run, char **stage,
               struct sheaf_error *err);
/* Finds the stage (a directory) that another process of the run `run` has made. *stage becomes the
 * path of this stage, or NULL if the run has no stage. */
int stage_find(const char *partial, const char *run, char **stage, struct sheaf_error *err);
/* Removes stages from the directory `partial`. A stage is a directory through which a run publishes
 * its files. If `only` is not NULL, removes only the stage with this path. Otherwise removes all
 * stages except the stage `except`, or all stages if `except` is NULL. */
int stage_drop(const char *partial, const char *only, const char *except,
               struct sheaf_error *err);

/* Removes an object if it is still the object `seen`, like store_remove_over. If `stage` is not
 * NULL, the object is compared with `seen`, and then moved out of its place into the directory
 * `stage`. Returns SHEAF_ERR_CHANGED if the name has another object, or if another run has taken
 * over the stage. */
int stage_remove(const char *url, const struct store_seen *seen, const char *stage,
                 struct sheaf_error *err);

#endif
