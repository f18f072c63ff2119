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
 * Another run takes the directory over by renaming the stage. Of several runs, only one can succeed
 * with this. The first run no longer finds its stage, so that all its renames fail. This needs no
 * locks and no clocks. A store without stages must compare and write in one step instead
 * (store/over.h). */
#ifndef STORE_STAGE_H
#define STORE_STAGE_H

#include "store/store.h"

#define STAGE_SUFFIX ".stage"

/* Makes the stage of a new run in `partial`, the directory .sheaf-partial. *stage becomes the path
 * of the stage, which the caller must free, or NULL if the store has no stages. */
int stage_make(const char *partial, const char *run, char **stage, struct sheaf_error *err);
/* Takes the stage of the run `from` over for the run `run`, by renaming it, and empties it. If a
 * later run has already renamed that stage, the stage of the later run is taken over. If there is
 * no stage, a new one is made. *stage becomes its path. */
int stage_take(const char *partial, const char *from, const char *run, char **stage,
               struct sheaf_error *err);
/* Finds the stage of a run, for a further process of the same run. *stage becomes its path, or NULL
 * if there is none. */
int stage_find(const char *partial, const char *run, char **stage, struct sheaf_error *err);
/* Removes stages from the directory `partial`. If `only` is not NULL, only this stage is removed.
 * Otherwise all stages are removed, except the stage `except` if that is not NULL. */
int stage_drop(const char *partial, const char *only, const char *except,
               struct sheaf_error *err);

/* Removes an object if it is still the object `seen`, like store_remove_over. If `stage` is not
 * NULL, the object is first renamed into this stage. Returns SHEAF_ERR_CHANGED also if another run
 * has taken the stage over. */
int stage_remove(const char *url, const struct store_seen *seen, const char *stage,
                 struct sheaf_error *err);

#endif
