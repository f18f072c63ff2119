/* SPDX-License-Identifier: MIT
 *
 * Stages prevent a run that has lost its directory to another run from changing that directory,
 * even if one of its calls has already begun.
 *
 * A stage is a directory in DIR/.sheaf-partial whose name is the number of a run. When the run
 * gives a file its final name in DIR, it first renames the temporary file into the stage, and then
 * from the stage to its final name. When the run removes a file of DIR, it first renames the file
 * into the stage, and then deletes it there.
 *
 * Another run takes the directory over by renaming the stage. Of several runs, only one can do
 * that. The earlier run then no longer finds its stage, so each of its calls fails. This method
 * needs neither locks nor clocks. A store without stages checks in one step with each write that
 * the object has not changed (store/over.h). */
#ifndef STORE_STAGE_H
#define STORE_STAGE_H

#include "store/store.h"

#define STAGE_SUFFIX ".stage"

/* Makes the stage of a new run in `partial`, which is a directory .sheaf-partial. *stage becomes
 * the stage's path, which the caller frees, or NULL if the store has no stages. */
int stage_make(const char *partial, const char *run, char **stage, struct sheaf_error *err);
/* Renames the stage of the run `from` to that of the run `run` (or, if a later run has already
 * renamed the stage of `from`, the stage of the later run), and empties it. If there is no stage,
 * makes a new one. */
int stage_take(const char *partial, const char *from, const char *run, char **stage,
               struct sheaf_error *err);
/* Finds the stage of a run that consists of several processes. *stage becomes NULL if there is
 * none. */
int stage_find(const char *partial, const char *run, char **stage, struct sheaf_error *err);
/* Removes stages from the directory `partial`. If `only` is given, removes that stage only.
 * Otherwise removes all stages except `except`, or all if both are NULL. */
int stage_drop(const char *partial, const char *only, const char *except,
               struct sheaf_error *err);

/* Removes an object, by first renaming it into `stage` if that is not NULL. Does so only if the
 * object is still the one that the caller saw, like store_remove_over. Returns SHEAF_ERR_CHANGED
 * also if another run has taken the stage. */
int stage_remove(const char *url, const struct store_seen *seen, const char *stage,
                 struct sheaf_error *err);

#endif
