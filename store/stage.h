/* SPDX-License-Identifier: MIT
 *
 * Stages protect a directory DIR from a run (a process that writes a data set) after another run
 * has taken the directory over. Even a system call that the first run has already begun can then do
 * no harm.
 *
 * A stage is a directory in DIR/.sheaf-partial. Its name is the number of a run. To give a file its
 * final name in DIR, the run first renames the temporary file into its stage, and then from the
 * stage to the final name. To remove a file of DIR, the run first renames the file into its stage,
 * and then deletes it.
 *
 * Another run takes the directory over by renaming the stage. If several runs try this, only one
 * can succeed. The first run then no longer finds its stage, so all its renames fail. This method
 * needs no locks and no clocks. A store without stages must compare and write in one step instead
 * (store/over.h). */
#ifndef STORE_STAGE_H
#define STORE_STAGE_H

#include "store/store.h"

#define STAGE_SUFFIX ".stage"

/* Makes the stage of a new run in `partial`, the directory .sheaf-partial. *stage becomes the path
 * of the stage, which the caller must free, or NULL if the store has no stages. */
int stage_make(const char *partial, const char *run, char **stage, struct sheaf_error *err);
/* Takes the stage of the run `from` over for the run `run`, by renaming it, and empties it. If a
 * third run has already renamed that stage to its own, the stage of the third run is taken over. If
 * there is no stage to take over, a new stage is made. *stage becomes the path of the stage. */
int stage_take(const char *partial, const char *from, const char *run, char **stage,
               struct sheaf_error *err);
/* Finds the stage of a run, for a further process of the same run. *stage becomes the path of this
 * stage, or NULL if the run has no stage. */
int stage_find(const char *partial, const char *run, char **stage, struct sheaf_error *err);
/* Removes stages (directories through which runs publish their files) from the directory `partial`.
 * If `only` is not NULL, only this stage is removed. Otherwise all stages are removed, except the
 * stage `except` (NULL for none). */
int stage_drop(const char *partial, const char *only, const char *except,
               struct sheaf_error *err);

/* Removes an object if it is still the object `seen`, like store_remove_over. If `stage` is not
 * NULL, the object is first renamed into this stage. Returns SHEAF_ERR_CHANGED if the name has
 * another object, or if another run has taken the stage over. */
int stage_remove(const char *url, const struct store_seen *seen, const char *stage,
                 struct sheaf_error *err);

#endif
