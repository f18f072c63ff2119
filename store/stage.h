/* SPDX-License-Identifier: MIT
 *
 * Stages prevent a run that has lost its directory to another run from changing that directory,
 * even if one of its calls has already begun.
 *
 * A stage is a directory in DIR/.sheaf-partial whose name is the number of a run. When the run
 * gives a file its name in DIR, or removes a file there, it first renames the file into the stage:
 *
 *     write     .sheaf-partial/NAME.<random>.tmp -> .sheaf-partial/RUN.stage/... -> NAME
 *     remove    NAME -> .sheaf-partial/RUN.stage/... -> gone
 *
 * Another run takes the directory by renaming the stage. Of several runs, only one can do that. The
 * earlier run then no longer finds its stage, so each of its calls fails. This method needs neither
 * locks nor clocks. A store without stages checks in one step with each write that the object has
 * not changed (store/over.h). */
#ifndef STORE_STAGE_H
#define STORE_STAGE_H

#include "store/store.h"

#define STAGE_SUFFIX ".stage"

/* Makes the stage of a new run in `partial`, which is a directory .sheaf-partial. *stage becomes
 * the stage's path, which the caller frees, or NULL if the store has no stages. */
int stage_make(const char *partial, const char *run, char **stage, struct sheaf_error *err);
/* Takes over the stage of the run `from`, or of a later run that has already taken it over, and
 * empties the stage. If there is no stage, makes a new one. */
int stage_take(const char *partial, const char *from, const char *run, char **stage,
               struct sheaf_error *err);
/* Finds the stage of a run that consists of several processes. *stage becomes NULL if there is
 * none. */
int stage_find(const char *partial, const char *run, char **stage, struct sheaf_error *err);
/* Removes stages from the directory `partial`. If `only` is given, removes that stage only.
 * Otherwise removes all stages except `except`, or all if both are NULL. */
int stage_drop(const char *partial, const char *only, const char *except,
               struct sheaf_error *err);

/* Removes an object through a stage (NULL for none), if the object is still the one that the
 * caller saw, like store_remove_over. Returns SHEAF_ERR_CHANGED also if another run has taken
 * the stage. */
int stage_remove(const char *url, const struct store_seen *seen, const char *stage,
                 struct sheaf_error *err);

#endif
